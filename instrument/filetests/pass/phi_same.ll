; A phi whose incoming pointers agree is proven.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a, ptr %b, i1 %c) {
entry:
  br i1 %c, label %left, label %join
left:
  br label %join
join:
  %p = phi ptr [ %a, %entry ], [ %b, %left ]
  store i16 1, ptr %p
  ret void
}
; expect: k store 2 proven
