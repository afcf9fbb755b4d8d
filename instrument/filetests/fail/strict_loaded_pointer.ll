; A pointer read from memory, to which a shared address is also stored.
; options: --strict
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @k(ptr %table) {
  store ptr addrspacecast (ptr addrspace(3) @s to ptr), ptr %table
  %p = load ptr, ptr %table
  %v = atomicrmw add ptr %p, i32 7 seq_cst
  ret void
}
; expect: error: unknown location: the address of this atomic_add in k comes from a pointer read from memory, whose space is not known; leave out --strict to test it when the program runs
