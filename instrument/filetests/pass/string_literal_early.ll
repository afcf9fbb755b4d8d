; Like string_literal.ll, but before LLVM moves the literal to global memory.
; options: --at early
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@text = private unnamed_addr constant [4 x i8] c"abc\00"
define ptx_kernel void @k(i64 %i, ptr %out) {
  %p = getelementptr i8, ptr @text, i64 %i
  %v = load i8, ptr %p
  store i8 %v, ptr %out
  ret void
}
; expect: k load 1 proven
; expect: k store 1 proven
