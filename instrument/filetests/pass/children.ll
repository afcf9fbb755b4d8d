; Launches from the device: storing their arguments is not an access, a kernel is launched by its number, and the heap
; of launched kernels is listed.
; holds: call i32 @__superstep_child_launch(ptr inttoptr (i64 2 to ptr), ptr %1, ptr %shape, ptr %shape, i32 0, ptr null)
; holds: device malloc heap of parent\00
; lacks: __cudaCDP2
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare ptr @__cudaCDP2GetParameterBuffer(i64, i64)
declare i32 @__cudaCDP2LaunchDevice(ptr, ptr, ptr byval([12 x i8]) align 4, ptr byval([12 x i8]) align 4, i32, ptr)
declare i32 @__cudaCDP2Malloc(ptr, i64)

define ptx_kernel void @parent(ptr addrspace(1) %out) {
  %shape = alloca [12 x i8], align 4
  %place = alloca ptr
  %arguments = call ptr @__cudaCDP2GetParameterBuffer(i64 64, i64 8)
  store ptr addrspace(1) %out, ptr %arguments
  %launched = call i32 @__cudaCDP2LaunchDevice(ptr @child, ptr %arguments, ptr byval([12 x i8]) %shape, ptr byval([12 x i8]) %shape, i32 0, ptr null)
  %got = call i32 @__cudaCDP2Malloc(ptr %place, i64 16)
  store i32 %launched, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @child(ptr addrspace(1) %out) {
  store i32 1, ptr addrspace(1) %out
  ret void
}
; expect: parent store 4 proven
; expect: child store 4 proven
