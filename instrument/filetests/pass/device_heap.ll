; The table of a module's variables names the kernels that may call `malloc`, so that the runtime finds the heap before
; they run.
; holds: device malloc heap of allocates\00
; holds: device malloc heap of allocates_in_a_function\00
; lacks: device malloc heap of touches
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare ptr @malloc(i64)

define ptr @deep() noinline {
  %block = call ptr @malloc(i64 16)
  ret ptr %block
}

define ptx_kernel void @allocates(ptr addrspace(1) %out) {
  %block = call ptr @malloc(i64 16)
  store ptr %block, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @allocates_in_a_function(ptr addrspace(1) %out) {
  %block = call ptr @deep()
  store ptr %block, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @touches(ptr addrspace(1) %out) {
  store i32 1, ptr addrspace(1) %out
  ret void
}
; expect: allocates store 8 proven
; expect: allocates_in_a_function store 8 proven
; expect: touches store 4 proven
