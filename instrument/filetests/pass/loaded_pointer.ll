; Only global pointers are stored, so a pointer read from memory is global.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@table = addrspace(1) global [4 x ptr] zeroinitializer
define ptx_kernel void @k(ptr %g, i64 %i) {
  %slot = getelementptr ptr, ptr addrspacecast (ptr addrspace(1) @table to ptr), i64 %i
  store ptr %g, ptr %slot
  %p = load ptr, ptr %slot
  store i32 7, ptr %p
  ret void
}
; expect: k store 8 proven
; expect: k load 8 proven
; expect: k store 4 proven
