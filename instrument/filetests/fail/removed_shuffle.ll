; Clang accepts a shuffle without a mask for every GPU; code generation would fail without naming its position.
; options: --target-cpu sm_80
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.shfl.down.i32(i32, i32, i32)
define ptx_kernel void @k(ptr %data) {
  %value = load i32, ptr %data
  %next = call i32 @llvm.nvvm.shfl.down.i32(i32 %value, i32 1, i32 31)
  store i32 %next, ptr %data
  ret void
}
; expect: error: unknown location: k uses llvm.nvvm.shfl.down.i32, which GPUs from sm_70 on do not support, and is compiled for sm_80; call the function whose name ends in _sync instead, or compile for an older architecture
