; A table that is initialised with addresses of device variables and literals contains global pointers.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@a = addrspace(1) global [8 x i32] zeroinitializer
@text = private unnamed_addr constant [8 x i32] zeroinitializer
@table = addrspace(1) global [3 x ptr] [ptr addrspacecast (ptr addrspace(1) @a to ptr), ptr @text, ptr null]
@constants = addrspace(4) constant [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @a to ptr)]
define ptx_kernel void @k(i64 %i) {
  %slot = getelementptr ptr, ptr addrspace(1) @table, i64 %i
  %p = load ptr, ptr addrspace(1) %slot
  %v = load i32, ptr %p
  %c = getelementptr ptr, ptr addrspace(4) @constants, i64 %i
  %q = load ptr, ptr addrspace(4) %c
  store i32 %v, ptr %q
  ret void
}
; expect: k load 8 proven
; expect: k load 4 proven
; expect: k store 4 proven
