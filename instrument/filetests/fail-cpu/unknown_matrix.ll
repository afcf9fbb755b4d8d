; Products of sparse matrices, which the CPU backend does not support.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g, i32 %a, float %c) {
  %d = call { float, float, float, float } asm "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0,$1,$2,$3}, {$4,$4}, {$4,$4}, {$5,$5,$5,$5}, $4, 0;", "=f,=f,=f,=f,r,f"(i32 %a, float %c)
  %x = extractvalue { float, float, float, float } %d, 0
  store float %x, ptr %g
  ret void
}
; expect: error: unknown location: the CPU backend does not support the PTX instruction `mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32`, in asm "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0,$1,$2,$3}, {$4,$4}, {$4,$4}, {$5,$5,$5,$5}, $4, 0;"; run this program with --backend cuda
