; A function that no unit defines.
; options: --whole-program
source_filename = "main.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare void @_Z4copyPfPKf(ptr, ptr)
define ptx_kernel void @k(ptr %data) {
  call void @_Z4copyPfPKf(ptr %data, ptr %data)
  ret void
}
; expect: error: unknown location: k uses the device function copy, which is not defined in main.cu; add the file that defines it, and compile with -fgpu-rdc (nvcc: -rdc=true) if a file uses device code from another
