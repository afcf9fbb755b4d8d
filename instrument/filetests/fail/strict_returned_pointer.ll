; A function that returns pointers to two spaces.
; options: --strict
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define internal ptr @either(ptr %p, i1 %c) noinline {
  br i1 %c, label %one, label %other
one:
  ret ptr %p
other:
  ret ptr addrspacecast (ptr addrspace(3) @s to ptr)
}
define ptx_kernel void @k(ptr %a, i1 %c) {
  %r = call ptr @either(ptr %a, i1 %c)
  %v = cmpxchg ptr %r, i32 1, i32 2 seq_cst seq_cst
  ret void
}
; expect: error: unknown location: the address of this atomic_cas in k may be in global memory, through parameter 0 of kernel k, or elsewhere, through shared variable s; leave out --strict to test it when the program runs
