; A pointer that is a kernel parameter points to global memory (thesis, 5.3.1).
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %in, ptr %out) {
  %v = load <4 x float>, ptr %in
  store <4 x float> %v, ptr %out
  ret void
}
; expect: k load 16 proven
; expect: k store 16 proven
