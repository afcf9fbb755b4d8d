; A constant variable may be initialised with the address of another, so pointers read from it need not be global.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@c = addrspace(4) global [8 x i32] zeroinitializer
@p = addrspace(4) constant [1 x ptr] [ptr addrspacecast (ptr addrspace(4) @c to ptr)]
define ptx_kernel void @k(ptr %out, i64 %i) {
  %slot = getelementptr ptr, ptr addrspace(4) @p, i64 %i
  %q = load ptr, ptr addrspace(4) %slot
  %v = load i32, ptr %q
  store i32 %v, ptr %out
  ret void
}
; expect: k load 4 tested
; expect: k store 4 proven
