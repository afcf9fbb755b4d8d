; A by-value parameter is a copy: if the kernel stores a shared address in it, pointers read from it are tested.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
%S = type { ptr, i32 }
@s = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @k(ptr byval(%S) align 8 %s, i1 %c) {
  br i1 %c, label %other, label %join
other:
  store ptr addrspacecast (ptr addrspace(3) @s to ptr), ptr %s
  br label %join
join:
  %p = load ptr, ptr %s
  store i32 1, ptr %p
  ret void
}
; expect: k store 4 tested
