; Results of calls: proven if the function returns pointers to one space, tested if the space varies or is unknown; a
; function that returns its own argument has one copy per space. The device heap is global memory.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
declare ptr @malloc(i64)
declare ptr @somewhere()
define internal ptr @second(ptr %p) noinline {
  %q = getelementptr i32, ptr %p, i64 1
  ret ptr %q
}
define internal ptr @either(ptr %p, i1 %c) noinline {
  br i1 %c, label %one, label %other
one:
  ret ptr %p
other:
  ret ptr addrspacecast (ptr addrspace(3) @s to ptr)
}
define ptx_kernel void @k(ptr %a, i1 %c) {
  %p = call ptr @second(ptr %a)
  store i8 1, ptr %p
  %q = call ptr @second(ptr addrspacecast (ptr addrspace(3) @s to ptr))
  store i8 2, ptr %q
  %r = call ptr @either(ptr %a, i1 %c)
  store i16 3, ptr %r
  %m = call ptr @malloc(i64 4)
  store i32 4, ptr %m
  %x = call ptr @somewhere()
  store i64 5, ptr %x
  ret void
}
; expect: k store 1 proven
; expect: k store 2 tested
; expect: k store 4 proven
; expect: k store 8 tested
