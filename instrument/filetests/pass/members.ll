; A pointer inserted into a struct in registers is tracked until it is extracted, through phis, calls and nesting.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [4 x i32] undef
define { ptr, { i32, ptr } } @pair(ptr %first, ptr %second) noinline {
  %a = insertvalue { ptr, { i32, ptr } } poison, ptr %first, 0
  %b = insertvalue { ptr, { i32, ptr } } %a, ptr %second, 1, 1
  ret { ptr, { i32, ptr } } %b
}
define i32 @second({ ptr, { i32, ptr } } %both) noinline {
  %inner = extractvalue { ptr, { i32, ptr } } %both, 1
  %p = extractvalue { i32, ptr } %inner, 1
  %v = load i32, ptr %p
  ret i32 %v
}
define ptx_kernel void @calls(ptr %data) {
  %both = call { ptr, { i32, ptr } } @pair(ptr addrspacecast (ptr addrspace(3) @tile to ptr), ptr %data)
  %shared = extractvalue { ptr, { i32, ptr } } %both, 0
  %v = call i32 @second({ ptr, { i32, ptr } } %both)
  store i32 %v, ptr %shared
  ret void
}
define ptx_kernel void @loops(ptr %data, i32 %n) {
entry:
  %start = insertvalue [2 x ptr] zeroinitializer, ptr %data, 1
  br label %loop
loop:
  %pointers = phi [2 x ptr] [ %start, %entry ], [ %next, %loop ]
  %i = phi i32 [ 0, %entry ], [ %more, %loop ]
  %p = extractvalue [2 x ptr] %pointers, 1
  store i16 1, ptr %p
  %advanced = getelementptr i32, ptr %p, i64 1
  %next = insertvalue [2 x ptr] %pointers, ptr %advanced, 1
  %more = add i32 %i, 1
  %again = icmp ult i32 %more, %n
  br i1 %again, label %loop, label %done
done:
  ret void
}
define ptx_kernel void @mixed(ptr %data, i1 %c) {
  %local = alloca ptr
  %one = insertvalue { ptr, ptr } { ptr addrspacecast (ptr addrspace(3) @tile to ptr), ptr null }, ptr %data, 1
  %other = insertvalue { ptr, ptr } %one, ptr %local, 1
  %either = select i1 %c, { ptr, ptr } %one, { ptr, ptr } %other
  %always_shared = extractvalue { ptr, ptr } %either, 0
  %anywhere = extractvalue { ptr, ptr } %either, 1
  store i8 1, ptr %always_shared
  store i64 2, ptr %anywhere
  ret void
}
; expect: second load 4 proven
; expect: loops store 2 proven
; expect: mixed store 8 tested
