; A pointer that a loop advances keeps its space; one whose space changes in a later iteration is tested in every use.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @k(ptr %a, i64 %n) {
entry:
  br label %loop
loop:
  %p = phi ptr [ %a, %entry ], [ %p2, %loop ]
  %q = phi ptr [ %a, %entry ], [ %r, %loop ]
  %r = phi ptr [ %a, %entry ], [ addrspacecast (ptr addrspace(3) @s to ptr), %loop ]
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  store i16 1, ptr %p
  store i32 1, ptr %q
  %p2 = getelementptr i16, ptr %p, i64 1
  %j = add i64 %i, 1
  %c = icmp eq i64 %j, %n
  br i1 %c, label %end, label %loop
end:
  ret void
}
; expect: k store 2 proven
; expect: k store 4 tested
