; A function called with opposite spaces (thesis, figure 5.6) has one copy for each call.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define internal void @copy(ptr %d, ptr %s) noinline {
  %v = load i32, ptr %s
  store i32 %v, ptr %d
  ret void
}
define ptx_kernel void @k(ptr %g) {
  call void @copy(ptr addrspacecast (ptr addrspace(3) @s to ptr), ptr %g)
  call void @copy(ptr %g, ptr addrspacecast (ptr addrspace(3) @s to ptr))
  ret void
}
; expect: copy store 4 proven
; expect: copy.copy_1 load 4 proven
