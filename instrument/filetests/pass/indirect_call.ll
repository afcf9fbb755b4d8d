; A function whose address is taken may be called with any pointer, so its accesses are tested.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@f = addrspace(1) global ptr @put
define internal void @put(ptr %p) {
  store i32 1, ptr %p
  ret void
}
define ptx_kernel void @k(ptr %g) {
  %f = load ptr, ptr addrspacecast (ptr addrspace(1) @f to ptr)
  call void %f(ptr %g)
  ret void
}
; expect: put store 4 tested
; expect: k load 8 proven
