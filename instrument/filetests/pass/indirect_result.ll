; The result of an indirect call is tested.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@f = addrspace(1) global ptr @same
define internal ptr @same(ptr %p) {
  ret ptr %p
}
define ptx_kernel void @k(ptr %g) {
  %f = load ptr, ptr addrspacecast (ptr addrspace(1) @f to ptr)
  %p = call ptr %f(ptr %g)
  store i32 1, ptr %p
  ret void
}
; expect: k load 8 proven
; expect: k store 4 tested
