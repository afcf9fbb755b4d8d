; Two functions that call each other with swapped arguments: each has one copy per context.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define internal void @ping(ptr %a, ptr %b, i32 %n) noinline {
  %v = load i32, ptr %a
  %c = icmp eq i32 %n, 0
  br i1 %c, label %end, label %more
more:
  %m = sub i32 %n, 1
  call void @pong(ptr %b, ptr %a, i32 %m)
  br label %end
end:
  store i32 %v, ptr %b
  ret void
}
define internal void @pong(ptr %a, ptr %b, i32 %n) noinline {
  store i16 1, ptr %a
  call void @ping(ptr %a, ptr %b, i32 %n)
  ret void
}
define ptx_kernel void @k(ptr %g, i32 %n) {
  call void @ping(ptr %g, ptr addrspacecast (ptr addrspace(3) @s to ptr), i32 %n)
  ret void
}
; expect: ping load 4 proven
; expect: ping.copy_1 store 4 proven
; expect: pong.copy_1 store 2 proven
