; The elements of a vector of pointers share one fact: proven if all agree, tested otherwise.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [4 x i32] undef
define ptx_kernel void @same(ptr %a, ptr %b, i32 %i) {
  %one = insertelement <2 x ptr> poison, ptr %a, i32 0
  %two = insertelement <2 x ptr> %one, ptr %b, i32 1
  %moved = getelementptr i32, <2 x ptr> %two, <2 x i64> <i64 1, i64 2>
  %turned = shufflevector <2 x ptr> %moved, <2 x ptr> poison, <2 x i32> <i32 1, i32 0>
  %p = extractelement <2 x ptr> %turned, i32 %i
  store i32 1, ptr %p
  ret void
}
define ptx_kernel void @different(ptr %a, i32 %i) {
  %one = insertelement <2 x ptr> <ptr poison, ptr addrspacecast (ptr addrspace(3) @tile to ptr)>, ptr %a, i32 0
  %p = extractelement <2 x ptr> %one, i32 %i
  store i16 1, ptr %p
  ret void
}
define ptx_kernel void @loaded(ptr %a, i32 %i) {
  %both = load <2 x ptr>, ptr %a
  %p = extractelement <2 x ptr> %both, i32 %i
  store i8 1, ptr %p
  ret void
}
; expect: same store 4 proven
; expect: different store 2 tested
; expect: loaded load 16 proven
; expect: loaded store 1 proven
