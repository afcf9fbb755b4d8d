; A loop that loads with `volatile` from global memory may wait for another thread of its CTA, which must get its turn.
target triple = "nvptx64-nvidia-cuda"

@shared = internal addrspace(3) global i32 undef

define ptx_kernel void @poll(ptr %flag, ptr %out) {
entry:
  %once = load volatile i32, ptr %out
  br label %look

look:
  %seen = load volatile i32, ptr %flag
  %sum = load volatile i32, ptr addrspace(3) @shared
  %both = add i32 %seen, %sum
  %again = icmp eq i32 %both, 0
  br i1 %again, label %look, label %done

done:
  store i32 %once, ptr %out
  ret void
}

define ptx_kernel void @sum(ptr %out) {
entry:
  %once = load volatile i32, ptr %out
  br label %look

look:
  %sum = load volatile i32, ptr addrspace(3) @shared
  %again = icmp eq i32 %sum, 0
  br i1 %again, label %look, label %done

done:
  store i32 %once, ptr %out
  ret void
}
; holds: call void @__superstep_yield()
; holds: ptr @superstep.thunk.poll, i32 2, i32 1,
; holds: ptr @superstep.thunk.sum, i32 1, i32 0,
