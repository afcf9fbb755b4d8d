; An operation on memory that is not known is refused and named.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare void @llvm.nvvm.cp.async.bulk.prefetch.L2(ptr addrspace(1), i32, i64, i1)
define ptx_kernel void @k(ptr addrspace(1) %g) {
  call void @llvm.nvvm.cp.async.bulk.prefetch.L2(ptr addrspace(1) %g, i32 16, i64 0, i1 false)
  ret void
}
; expect: error: unknown place: `llvm.nvvm.cp.async.bulk.prefetch.L2` in k touches memory in a way that Superstep cannot trace yet; please report it with the program
