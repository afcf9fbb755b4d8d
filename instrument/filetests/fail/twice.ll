; A module that carries the mark of an instrumented module.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k() {
  ret void
}
!superstep.instrumented = !{!0}
!0 = !{}
; expect: error: twice.ll is already instrumented; pass the compiler's own output
