; A function that can be called indirectly.
; options: --strict
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
; expect: error: unknown location: the address of this store in put comes from parameter 0 of function put, whose space is not known; leave out --strict to test it when the program runs
