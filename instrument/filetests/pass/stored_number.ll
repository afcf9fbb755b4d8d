; If a shared or constant address is stored as a constant number, pointers read from memory may be that address.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
@c = addrspace(4) global [8 x i32] zeroinitializer
define ptx_kernel void @k(ptr %table, i64 %i) {
  store i64 ptrtoint (ptr addrspacecast (ptr addrspace(3) @s to ptr) to i64), ptr %table
  store <2 x i64> <i64 ptrtoint (ptr addrspacecast (ptr addrspace(4) @c to ptr) to i64), i64 0>, ptr %table
  %slot = getelementptr ptr, ptr %table, i64 %i
  %p = load ptr, ptr %slot
  store i32 7, ptr %p
  ret void
}
; expect: k store 8 proven
; expect: k store 16 proven
; expect: k load 8 proven
; expect: k store 4 tested
