; A variable that no unit defines, used through a constant.
; options: --whole-program
source_filename = "main.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@_ZN5table5countE = external addrspace(1) global [4 x i32]
define ptx_kernel void @k(ptr %data) {
  %element = load i32, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @_ZN5table5countE, i64 4)
  store i32 %element, ptr %data
  ret void
}
; expect: error: unknown location: k uses the device variable table::count, which is not defined in main.cu; add the file that defines it, and compile with -fgpu-rdc (nvcc: -rdc=true) if a file uses device code from another
