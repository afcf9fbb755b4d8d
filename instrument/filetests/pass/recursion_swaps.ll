; The analysis of a recursive function that swaps its arguments terminates, with one copy per order.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define internal void @swap(ptr %a, ptr %b, i32 %n) noinline {
entry:
  %v = load i32, ptr %a
  %end = icmp eq i32 %n, 0
  br i1 %end, label %done, label %next
next:
  %m = sub i32 %n, 1
  call void @swap(ptr %b, ptr %a, i32 %m)
  br label %done
done:
  %w = phi i32 [ %v, %entry ], [ 3, %next ]
  store i32 %w, ptr %a
  ret void
}
define ptx_kernel void @k(ptr %g, i32 %n) {
  call void @swap(ptr %g, ptr addrspacecast (ptr addrspace(3) @s to ptr), i32 %n)
  ret void
}
; expect: swap load 4 proven
; expect: swap store 4 proven
