; A unit for tests that link multiple units: a function that other units call, a static function, and Clang's undefined
; declaration of a static variable that device code uses before the host does.
source_filename = "copy.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@_ZL5count = external addrspace(1) global i32
@_ZL5count__static__0123456789abcdef = addrspace(1) externally_initialized global i32 7
define void @_Z4copyPfPKf(ptr %to, ptr %from) noinline {
  %value = load float, ptr %from
  store float %value, ptr %to
  ret void
}
define internal i32 @_ZL4samev() noinline {
  %count = load i32, ptr addrspace(1) @_ZL5count
  ret i32 %count
}
define ptx_kernel void @_Z7unit_onPi(ptr %out) {
  %number = call i32 @_ZL4samev()
  store i32 %number, ptr %out
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
