; All lanes of a warp call the runtime, each with its registers in memory.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare { double, double } @llvm.nvvm.wmma.m8n8k4.load.c.row.stride.f64.p0(ptr, i32)
declare { double, double } @llvm.nvvm.wmma.m8n8k4.mma.row.col.f64(double, double, double, double)
declare void @llvm.nvvm.wmma.m8n8k4.store.d.row.stride.f64.p0(ptr, double, double, i32)
@tile = internal addrspace(3) global [64 x double] undef
define ptx_kernel void @k(ptr %g, i32 %stride) {
  %c = call { double, double } @llvm.nvvm.wmma.m8n8k4.load.c.row.stride.f64.p0(ptr %g, i32 %stride)
  %c0 = extractvalue { double, double } %c, 0
  %c1 = extractvalue { double, double } %c, 1
  %d = call { double, double } @llvm.nvvm.wmma.m8n8k4.mma.row.col.f64(double %c0, double %c1, double %c0, double %c1)
  %d0 = extractvalue { double, double } %d, 0
  %d1 = extractvalue { double, double } %d, 1
  call void @llvm.nvvm.wmma.m8n8k4.store.d.row.stride.f64.p0(ptr %g, double %d0, double %d1, i32 %stride)
  %rows = call { i32, i32 } asm sideeffect "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {$0, $1}, [$2];", "=r,=r,l,~{memory}"(ptr addrspacecast (ptr addrspace(3) @tile to ptr))
  %row = extractvalue { i32, i32 } %rows, 0
  store i32 %row, ptr %g
  ret void
}
; holds: call void @__superstep_matrix(i64
; lacks: call { double, double } @llvm.nvvm.wmma
; lacks: ldmatrix
