; Atomic operations on shared memory are not traced; those on an unknown space are tested. Covers all widths.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
@wide = internal addrspace(3) global [2 x i64] undef
define ptx_kernel void @k(ptr %g, i1 %c) {
  %p = select i1 %c, ptr %g, ptr addrspacecast (ptr addrspace(3) @s to ptr)
  %a = atomicrmw add ptr addrspacecast (ptr addrspace(3) @s to ptr), i32 1 seq_cst
  %b = cmpxchg ptr addrspacecast (ptr addrspace(3) @s to ptr), i32 1, i32 2 seq_cst seq_cst
  %d = atomicrmw add ptr %p, i32 1 syncscope("block") monotonic
  %e = cmpxchg ptr %p, i32 1, i32 2 syncscope("device") acq_rel monotonic
  %f = cmpxchg ptr %g, i64 1, i64 2 monotonic monotonic
  %h = cmpxchg ptr %g, i16 1, i16 2 monotonic monotonic
  %i = cmpxchg ptr %g, ptr null, ptr %g monotonic monotonic
  %j = atomicrmw fadd ptr %g, double 1.0 monotonic
  %l = atomicrmw fadd ptr %g, <2 x half> <half 1.0, half 1.0> monotonic
  %m = atomicrmw sub ptr %g, i64 1 monotonic
  %n = atomicrmw umin ptr %g, i64 1 monotonic
  %o = atomicrmw and ptr %g, i32 1 monotonic
  %q = atomicrmw or ptr %g, i32 1 monotonic
  %r = atomicrmw udec_wrap ptr %g, i32 1 monotonic
  ret void
}
; expect: k atomic_add 4 tested
; expect: k atomic_cas 4 tested
; expect: k atomic_cas 8 proven
; expect: k atomic_cas 2 proven
; expect: k atomic_cas 8 proven
; expect: k atomic_add 8 proven
; expect: k atomic_add 4 proven
; expect: k atomic_sub 8 proven
; expect: k atomic_min 8 proven
; expect: k atomic_and 4 proven
; expect: k atomic_or 4 proven
; expect: k atomic_dec 4 proven
