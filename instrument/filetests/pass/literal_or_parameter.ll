; LLVM's own address-space inference must not break a phi of a literal and a kernel parameter.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@text = private unnamed_addr constant [4 x i8] c"abc\00"
define ptx_kernel void @k(ptr %b, i64 %i, i1 %c) {
entry:
  %literal = getelementptr inbounds i8, ptr @text, i64 %i
  br i1 %c, label %other, label %join
other:
  br label %join
join:
  %p = phi ptr [ %b, %other ], [ %literal, %entry ]
  %v = load i8, ptr %p
  store i8 %v, ptr %b
  ret void
}
; expect: k load 1 proven
; expect: k store 1 proven
