; Volatile and atomic loads and stores are traced like others, in sizes of 1 to 16 bytes.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g) {
  %a = load volatile i32, ptr %g
  %b = load atomic i64, ptr %g acquire, align 8
  store volatile i16 1, ptr %g
  store atomic i32 1, ptr %g syncscope("block") release, align 4
  %c = load i128, ptr %g
  store i1 true, ptr %g
  store half 1.0, ptr %g
  %d = load <4 x i8>, ptr %g
  %e = load { i32, i64 }, ptr %g
  store [3 x float] zeroinitializer, ptr %g
  ret void
}
; expect: k load 4 proven
; expect: k load 8 proven
; expect: k store 2 proven
; expect: k store 4 proven
; expect: k load 16 proven
; expect: k store 1 proven
; expect: k store 2 proven
; expect: k load 4 proven
; expect: k load 16 proven
; expect: k store 12 proven
