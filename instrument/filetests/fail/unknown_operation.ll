; A tensor copy as an intrinsic.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare void @llvm.nvvm.cp.async.bulk.tensor.s2g.tile.1d(ptr addrspace(3), ptr, i32, i64, i1)
@tile = internal addrspace(3) global [64 x i32] undef
define ptx_kernel void @k(ptr %map, i32 %x) {
  call void @llvm.nvvm.cp.async.bulk.tensor.s2g.tile.1d(ptr addrspace(3) @tile, ptr %map, i32 %x, i64 0, i1 false)
  ret void
}
; expect: error: unknown location: `llvm.nvvm.cp.async.bulk.tensor.s2g.tile.1d` in k accesses memory in a way that Superstep cannot trace yet; the addresses of a tensor copy are in its tensor map, not in the program; load the tensor with plain accesses
