; Each kind of atomic operation is recorded as such.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g, ptr %f) {
  %a = atomicrmw add ptr %g, i32 1 seq_cst
  %b = atomicrmw xchg ptr %g, i32 1 seq_cst
  %c = atomicrmw umax ptr %g, i32 1 seq_cst
  %d = atomicrmw uinc_wrap ptr %g, i32 1 seq_cst
  %e = cmpxchg ptr %g, i32 1, i32 2 seq_cst seq_cst
  %h = atomicrmw fadd ptr %f, float 1.0 seq_cst
  %x = atomicrmw xor ptr %g, i32 1 syncscope("block") seq_cst
  ret void
}
; expect: k atomic_add 4 proven
; expect: k atomic_exch 4 proven
; expect: k atomic_max 4 proven
; expect: k atomic_inc 4 proven
; expect: k atomic_cas 4 proven
; expect: k atomic_add 4 proven
; expect: k atomic_xor 4 proven
