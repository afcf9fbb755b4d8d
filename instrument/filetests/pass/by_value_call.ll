; A call that passes a structure by value reads it: Clang passes the address of a global original.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
%S = type { [16 x i32] }
define internal i32 @sum(ptr byval(%S) align 4 %s, i64 %i) noinline {
  %p = getelementptr i32, ptr %s, i64 %i
  %v = load i32, ptr %p
  ret i32 %v
}
define ptx_kernel void @k(ptr %in, ptr %out, i64 %i) {
  %r = call i32 @sum(ptr byval(%S) align 4 %in, i64 %i)
  store i32 %r, ptr %out
  %l = alloca %S
  %t = call i32 @sum(ptr byval(%S) align 4 %l, i64 %i)
  ret void
}
; expect: k load 64 proven
; expect: k store 4 proven
