; A select between two spaces.
; options: --strict
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @k(ptr %a, i1 %c) {
  %q = select i1 %c, ptr %a, ptr addrspacecast (ptr addrspace(3) @s to ptr)
  %v = load i64, ptr %q
  ret void
}
; expect: error: unknown location: the address of this load in k may be in global memory, through parameter 0 of kernel k, or elsewhere, through shared variable s; leave out --strict to test it when the program runs
