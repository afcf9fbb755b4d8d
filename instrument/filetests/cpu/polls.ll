; A loop with a `volatile` load from global memory might wait for another thread of its CTA, to which it must yield. The
; same applies to inline PTX with a load that decides whether the loop continues, but not to a loop that adds up loaded
; values.
target triple = "nvptx64-nvidia-cuda"

@shared = internal addrspace(3) global i32 undef

define ptx_kernel void @poll(ptr %flag, ptr %out) {
entry:
  %once = load volatile i32, ptr %out
  br label %look

look:
  %seen = load volatile i32, ptr %flag
  %sum = load volatile i32, ptr addrspace(3) @shared
  %combined = add i32 %seen, %sum
  %again = icmp eq i32 %combined, 0
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
define ptx_kernel void @look(ptr %flag, ptr %out) {
entry:
  br label %look

look:
  %seen = call i32 asm "ld.global.cg.u32 $0, [$1];", "=r,l"(ptr %flag)
  %again = icmp eq i32 %seen, 0
  br i1 %again, label %look, label %done

done:
  store i32 1, ptr %out
  ret void
}

define ptx_kernel void @stream(ptr %from, ptr %out) {
entry:
  br label %add

add:
  %i = phi i32 [ 0, %entry ], [ %next, %add ]
  %sum = phi i32 [ 0, %entry ], [ %more, %add ]
  %p = getelementptr i32, ptr %from, i32 %i
  %one = call i32 asm sideeffect "ld.global.cs.u32 $0, [$1];", "=r,l"(ptr %p)
  %more = add i32 %sum, %one
  %next = add i32 %i, 1
  %end = icmp eq i32 %next, 100
  br i1 %end, label %done, label %add

done:
  store i32 %more, ptr %out
  ret void
}
; holds: call void @__superstep_yield()
; holds: ptr @superstep.thunk.poll, i32 2, i32 0, i64 4, ptr null,
; holds: ptr @superstep.thunk.sum, i32 1, i32 0, i64 4, ptr @superstep.step.sum,
; holds: ptr @superstep.thunk.look, i32 2, i32 0, i64 0, ptr null,
; holds: ptr @superstep.thunk.stream, i32 2, i32 0, i64 0, ptr @superstep.step.stream,
