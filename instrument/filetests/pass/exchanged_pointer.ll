; If an atomic exchange stores a shared address, pointers read from memory may be that address, including the old value.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @k(ptr %table) {
  %old = atomicrmw xchg ptr %table, ptr addrspacecast (ptr addrspace(3) @s to ptr) seq_cst
  store i32 1, ptr %old
  %p = load ptr, ptr %table
  store i16 1, ptr %p
  ret void
}
; expect: k atomic_exch 8 proven
; expect: k store 4 tested
; expect: k load 8 proven
; expect: k store 2 tested
