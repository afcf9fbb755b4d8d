; A copy is a load and a store; its width in the table is 0 if its length is known only at run time; a copy of length 0
; accesses nothing.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [64 x i8] undef
define ptx_kernel void @k(ptr %d, ptr %g, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %d, ptr %g, i64 24, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %d, ptr %g, i64 %n, i1 false)
  call void @llvm.memset.p0.i64(ptr %d, i8 0, i64 12, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr addrspacecast (ptr addrspace(3) @s to ptr), ptr %g, i64 8, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %d, ptr %g, i64 0, i1 false)
  ret void
}
; expect: k load 24 proven
; expect: k store 24 proven
; expect: k load 0 proven
; expect: k store 0 proven
; expect: k store 12 proven
; expect: k load 8 proven
