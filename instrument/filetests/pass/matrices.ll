; Each lane accesses a piece of a matrix that a warp loads or stores; the pieces of a line are consecutive. Matrices in
; shared memory are not traced, nor are products.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } @llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p0(ptr, i32)
declare { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } @llvm.nvvm.wmma.m16n16k16.load.b.col.stride.f16.p1(ptr addrspace(1), i32)
declare { double, double } @llvm.nvvm.wmma.m8n8k4.load.c.row.stride.f64.p0(ptr, i32)
declare double @llvm.nvvm.wmma.m8n8k4.load.a.row.stride.f64.p0(ptr, i32)
declare { double, double } @llvm.nvvm.wmma.m8n8k4.mma.row.col.f64(double, double, double, double)
declare void @llvm.nvvm.wmma.m8n8k4.store.d.row.stride.f64.p0(ptr, double, double, i32)
@tile = internal addrspace(3) global [64 x double] undef
define ptx_kernel void @k(ptr %g, ptr addrspace(1) %h, i32 %stride) {
  %a = call { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } @llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p0(ptr %g, i32 %stride)
  %b = call { <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half> } @llvm.nvvm.wmma.m16n16k16.load.b.col.stride.f16.p1(ptr addrspace(1) %h, i32 16)
  %c = call { double, double } @llvm.nvvm.wmma.m8n8k4.load.c.row.stride.f64.p0(ptr %g, i32 %stride)
  %x = call double @llvm.nvvm.wmma.m8n8k4.load.a.row.stride.f64.p0(ptr addrspacecast (ptr addrspace(3) @tile to ptr), i32 8)
  %c0 = extractvalue { double, double } %c, 0
  %c1 = extractvalue { double, double } %c, 1
  %d = call { double, double } @llvm.nvvm.wmma.m8n8k4.mma.row.col.f64(double %x, double %x, double %c0, double %c1)
  %d0 = extractvalue { double, double } %d, 0
  %d1 = extractvalue { double, double } %d, 1
  call void @llvm.nvvm.wmma.m8n8k4.store.d.row.stride.f64.p0(ptr %g, double %d0, double %d1, i32 %stride)
  %y = call double asm sideeffect "wmma.load.b.sync.aligned.col.m8n8k4.global.f64 {$0}, [$1], $2;", "=d,l,r,~{memory}"(ptr %g, i32 %stride)
  ret void
}
; holds: @llvm.nvvm.read.ptx.sreg.laneid
; expect: k load 16 proven
; expect: k load 16 proven
; expect: k load 16 proven
; expect: k store 16 proven
; expect: k load 8 proven
