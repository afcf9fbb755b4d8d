; A function of CUDA's device runtime that Superstep does not support; no file of the program could define it.
; options: --whole-program
source_filename = "main.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @cudaGraphSetConditional(i64, i64)
define ptx_kernel void @k(i64 %handle) {
  %error = call i32 @cudaGraphSetConditional(i64 %handle, i64 0)
  ret void
}
; expect: error: unknown location: k calls cudaGraphSetConditional: Superstep does not support conditional graph nodes; let the host decide which graphs it launches
