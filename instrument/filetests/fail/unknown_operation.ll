; A matrix load from memory that may be global: which lane reads what is left open by PTX.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } @llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p0(ptr, i32)
define ptx_kernel void @k(ptr %g) {
  %m = call { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } @llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p0(ptr %g, i32 16)
  ret void
}
; expect: error: unknown place: `llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p0` in k touches memory in a way that Superstep cannot trace yet; PTX leaves open which lane of a warp reads what of a matrix or tensor; load it with plain accesses, or through shared memory
