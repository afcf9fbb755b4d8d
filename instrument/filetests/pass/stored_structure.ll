; A shared address that is stored as a member of a structure, or as an element of a vector.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @k(ptr %table, ptr %g) {
  %one = insertvalue { ptr, i64 } zeroinitializer, ptr addrspacecast (ptr addrspace(3) @s to ptr), 0
  store { ptr, i64 } %one, ptr %table
  %p = load ptr, ptr %table
  store i16 1, ptr %p
  ret void
}
; expect: k store 16 proven
; expect: k load 8 proven
; expect: k store 2 tested
