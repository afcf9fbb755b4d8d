; The initial value of a local array is not in global memory: nvcc stores its numbers one by one. The value of a
; constant in the source is in global memory, as are values that do not fit into constant memory.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@__const._Z1kl.local = private unnamed_addr constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4
@__const._Z1kl.large = private unnamed_addr constant [20000 x i32] zeroinitializer, align 4
@_ZL5named.const = private unnamed_addr constant [4 x i32] [i32 5, i32 6, i32 7, i32 8], align 4
define ptx_kernel void @k(ptr %out, i64 %i) {
  %a = getelementptr i32, ptr @__const._Z1kl.local, i64 %i
  %b = getelementptr i32, ptr @_ZL5named.const, i64 %i
  %c = getelementptr i32, ptr @__const._Z1kl.large, i64 %i
  %va = load i32, ptr %a
  %vb = load i32, ptr %b
  %vc = load i32, ptr %c
  %ab = add i32 %va, %vb
  %abc = add i32 %ab, %vc
  store i32 %abc, ptr %out
  ret void
}
; holds: @__const._Z1kl.local = private unnamed_addr addrspace(4) constant
; expect: k load 4 proven
; expect: k load 4 proven
; expect: k store 4 proven
