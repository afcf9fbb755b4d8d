; A value of a type that inkwell cannot represent.
target triple = "nvptx64-nvidia-cuda"

declare token @llvm.experimental.convergence.entry()

define ptx_kernel void @kernel(ptr %p) convergent {
  %t = call token @llvm.experimental.convergence.entry()
  store i32 1, ptr %p
  ret void
}
; expect: error: failed to read token.ll: kernel has a value of LLVM's type `token`, which is not supported
