; Single-precision divisions that -prec-div=false (divf) and -use_fast_math (divf:0) allow to be inexact.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @exact(ptr %g, float %a, float %b) {
  %q = fdiv float %a, %b
  store float %q, ptr %g
  ret void
}
; holds 1 times: %q = fdiv float %a, %b
define ptx_kernel void @full(ptr %g, float %a, float %b, double %c) #0 {
  %q = fdiv float %a, %b
  %r = fdiv float 1.0, %b
  %d = fdiv double %c, 3.0
  %e = fptrunc double %d to float
  %s = fadd float %q, %r
  %t = fadd float %s, %e
  store float %t, ptr %g
  ret void
}
; holds: %q = call float @llvm.nvvm.div.full(float %a, float %b)
; holds: %r = call float @llvm.nvvm.div.full(float 1.000000e+00, float %b)
; holds: %d = fdiv double %c, 3.000000e+00
define ptx_kernel void @fast(ptr %g, float %a, float %b) #1 {
  %q = fdiv float %a, %b
  %r = fdiv float 1.0, %b
  %s = fadd float %q, %r
  store float %s, ptr %g
  ret void
}
; holds: %q = call float @llvm.nvvm.div.approx.ftz.f(float %a, float %b)
; holds: %r = call float @llvm.nvvm.rcp.approx.ftz.f(float %b)
; lacks: reciprocal-estimates
attributes #0 = { "reciprocal-estimates"="divf" }
attributes #1 = { "reciprocal-estimates"="divf:0" "denormal-fp-math-f32"="preserve-sign,preserve-sign" }
; expect: exact store 4 proven
; expect: full store 4 proven
; expect: fast store 4 proven
