; A select between two spaces is tested at run time, in either order.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @k(ptr %a, i1 %c) {
  %l = alloca i64
  %p = select i1 %c, ptr %a, ptr addrspacecast (ptr addrspace(3) @s to ptr)
  store i16 1, ptr %p
  %q = select i1 %c, ptr addrspacecast (ptr addrspace(3) @s to ptr), ptr %a
  store i32 1, ptr %q
  %r = select i1 %c, ptr %l, ptr addrspacecast (ptr addrspace(3) @s to ptr)
  store i64 1, ptr %r
  ret void
}
; expect: k store 2 tested
; expect: k store 4 tested
; expect: k store 8 tested
