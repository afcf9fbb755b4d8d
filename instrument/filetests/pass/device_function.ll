; Accesses in a device function that is called only with global pointers are proven, even if it is recursive.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define internal i32 @walk(ptr %p, i32 %n) noinline {
entry:
  %end = icmp eq i32 %n, 0
  br i1 %end, label %done, label %next
next:
  %v = load i32, ptr %p
  %q = getelementptr i32, ptr %p, i64 1
  %m = sub i32 %n, 1
  %r = call i32 @walk(ptr %q, i32 %m)
  %t = add i32 %r, %v
  ret i32 %t
done:
  ret i32 0
}
define ptx_kernel void @k(ptr %g, i32 %n) {
  %r = call i32 @walk(ptr %g, i32 %n)
  store i32 %r, ptr %g
  ret void
}
; expect: walk load 4 proven
; expect: k store 4 proven
