; A shared address that is converted to a number may be stored as one, so pointers read from memory are tested.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @k(ptr %table, i64 %i) {
  %q = getelementptr i32, ptr addrspacecast (ptr addrspace(3) @s to ptr), i64 %i
  %number = ptrtoint ptr %q to i64
  %slot = getelementptr i64, ptr %table, i64 %i
  store i64 %number, ptr %slot
  %p = load ptr, ptr %table
  store i16 1, ptr %p
  ret void
}
; expect: k store 8 proven
; expect: k load 8 proven
; expect: k store 2 tested
