; Clang parses cluster dimensions but ignores them. A device heap allocation is kept even if it is freed in the same
; function.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@.str = private unnamed_addr constant [18 x i8] c"superstep-cluster\00", section "llvm.metadata"
@.str1 = private unnamed_addr constant [5 x i8] c"k.cu\00", section "llvm.metadata"
@.args = private unnamed_addr constant { i32, i32 } { i32 4, i32 2 }, section "llvm.metadata"
@llvm.global.annotations = appending global [1 x { ptr, ptr, ptr, i32, ptr }] [{ ptr, ptr, ptr, i32, ptr } { ptr @clusters, ptr @.str, ptr @.str1, i32 1, ptr @.args }], section "llvm.metadata"
declare ptr @malloc(i64)
declare void @free(ptr)
define ptx_kernel void @clusters(ptr %out) {
  %p = call ptr @malloc(i64 4)
  store i32 7, ptr %p
  call void @free(ptr %p)
  ret void
}
; holds: "nvvm.cluster_dim"="4,2,1"
; holds: store i32 7
; holds: call void @free
; lacks: llvm.global.annotations
