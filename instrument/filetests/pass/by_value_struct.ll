; Reading a by-value parameter is not a global access; a pointer in it points to global memory.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
%S = type { ptr, i32 }
define ptx_kernel void @k(ptr byval(%S) align 8 %s) {
  %p = load ptr, ptr %s
  %n = getelementptr inbounds %S, ptr %s, i64 0, i32 1
  %v = load i32, ptr %n
  store i32 %v, ptr %p
  ret void
}
; expect: k store 4 proven
