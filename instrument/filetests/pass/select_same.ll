; A select between two pointers to the same space is proven, and traced only if that space is global memory.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
@t = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @k(ptr %a, ptr %b, i1 %c) {
  %p = select i1 %c, ptr %a, ptr %b
  store i16 1, ptr %p
  %q = select i1 %c, ptr addrspacecast (ptr addrspace(3) @s to ptr), ptr addrspacecast (ptr addrspace(3) @t to ptr)
  store i32 1, ptr %q
  %r = select i1 %c, ptr %p, ptr null
  store i64 1, ptr %r
  ret void
}
; expect: k store 2 proven
; expect: k store 8 proven
