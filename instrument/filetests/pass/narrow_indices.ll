; An unsigned index that wraps at 32 bits is sign-extended if a generic pointer points only to shared memory.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@shared = internal addrspace(3) global [64 x i32] undef
define internal i32 @far(ptr %p, i32 %n) noinline {
  %index = zext i32 %n to i64
  %narrow = getelementptr inbounds i32, ptr %p, i64 %index
  %value = load i32, ptr %narrow
  ret i32 %value
}
define ptx_kernel void @calls(ptr %out, i32 %n) {
  %first = getelementptr inbounds i8, ptr addrspace(3) @shared, i64 4
  %generic = addrspacecast ptr addrspace(3) %first to ptr
  %one = call i32 @far(ptr %generic, i32 %n)
  %index = zext i32 %n to i64
  %wide = getelementptr inbounds i32, ptr %out, i64 %index
  store i32 %one, ptr %wide
  ret void
}
; holds: sext i32 %n to i64
; holds: %narrow = getelementptr i32, ptr %p
; holds: %wide = getelementptr inbounds i32, ptr
; expect: calls store 4 proven
