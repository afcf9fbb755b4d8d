; A class with a pure virtual function: nvcc provides the function that its vtable needs.
; options: --whole-program
target triple = "nvptx64-nvidia-cuda"

@table = internal addrspace(1) constant [2 x ptr] [ptr @__cxa_pure_virtual, ptr @set]

declare void @__cxa_pure_virtual()

define internal void @set(ptr %out) {
  store i32 1, ptr %out
  ret void
}

define ptx_kernel void @k(ptr %out, i64 %index) {
  %place = getelementptr [2 x ptr], ptr addrspace(1) @table, i64 0, i64 %index
  %function = load ptr, ptr addrspace(1) %place
  call void %function(ptr %out)
  ret void
}
; holds: define internal void @__cxa_pure_virtual(ptr %superstep.context, i64 %superstep.launch) {
; expect: set store 4 tested
; expect: k load 8 proven
