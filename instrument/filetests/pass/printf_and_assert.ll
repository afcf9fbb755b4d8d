; Calls to printf and assert are not traced: their arguments are in local memory, and their own accesses are not
; visible.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@format = private unnamed_addr constant [7 x i8] c"%d %s\0A\00"
@text = private unnamed_addr constant [2 x i8] c"x\00"
declare i32 @vprintf(ptr, ptr)
declare void @__assertfail(ptr, ptr, i32, ptr, i64) noreturn
define ptx_kernel void @k(ptr %in, i1 %c) {
  %arguments = alloca { i32, ptr }
  %v = load i32, ptr %in
  store i32 %v, ptr %arguments
  %second = getelementptr inbounds { i32, ptr }, ptr %arguments, i64 0, i32 1
  store ptr @text, ptr %second
  %n = call i32 @vprintf(ptr @format, ptr %arguments)
  br i1 %c, label %good, label %bad
bad:
  call void @__assertfail(ptr @text, ptr @text, i32 7, ptr @text, i64 1)
  unreachable
good:
  store i32 %n, ptr %in
  ret void
}
; expect: k load 4 proven
; expect: k store 4 proven
