; Permitted multiply-add pairs are fused before probes are inserted between them, unless the product is used twice.
; holds: call float @llvm.fma.f32(float %a, float %b, float %c)
; lacks: fmul contract
; lacks: fadd contract
; lacks: fsub contract
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g, float %a, float %b) {
  %m = fmul contract float %a, %b
  %c = load float, ptr %g
  %s = fadd contract float %c, %m
  store float %s, ptr %g
  %t = fmul contract float %a, %a
  %u = fadd contract float %t, %c
  %v = fsub contract float %t, %u
  store float %v, ptr %g
  ret void
}
; expect: k load 4 proven
; expect: k store 4 proven
; expect: k store 4 proven
