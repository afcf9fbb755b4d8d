; A table in global memory that is initialised with the address of a constant variable: pointers read from it are
; tested.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@c = addrspace(4) global [8 x i32] zeroinitializer
@table = addrspace(1) global [2 x ptr] [ptr null, ptr addrspacecast (ptr addrspace(4) @c to ptr)]
define ptx_kernel void @k(ptr %out, i64 %i) {
  %slot = getelementptr ptr, ptr addrspace(1) @table, i64 %i
  %p = load ptr, ptr addrspace(1) %slot
  %v = load i32, ptr %p
  store i32 %v, ptr %out
  ret void
}
; expect: k load 8 proven
; expect: k load 4 tested
; expect: k store 4 proven
