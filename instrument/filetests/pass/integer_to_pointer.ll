; An address converted from an integer is tested.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(i64 %n) {
  %p = inttoptr i64 %n to ptr
  store double 0.0, ptr %p
  ret void
}
; expect: k store 8 tested
