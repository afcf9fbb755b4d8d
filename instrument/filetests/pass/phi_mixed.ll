; A phi of two spaces (thesis, figure 5.5) is tested at run time; so is a select.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @k(ptr %a, i1 %c) {
entry:
  br i1 %c, label %left, label %join
left:
  br label %join
join:
  %p = phi ptr [ %a, %entry ], [ addrspacecast (ptr addrspace(3) @s to ptr), %left ]
  store i32 1, ptr %p
  %q = select i1 %c, ptr %a, ptr addrspacecast (ptr addrspace(3) @s to ptr)
  %v = load i64, ptr %q
  ret void
}
; expect: k store 4 tested
; expect: k load 8 tested
