; Denormals are flushed in functions with the attribute: in operands that can be denormals, and in results.
target triple = "nvptx64-nvidia-cuda"

declare float @llvm.maxnum.f32(float, float)

define ptx_kernel void @flushed(ptr %out, float %a, float %b, double %c) #0 {
  %sum = fadd float %a, %b
  %product = fmul float %sum, 2.0
  %less = fcmp olt float %product, %a
  %short = fptrunc double %c to float
  %long = fpext float %short to double
  %chosen = select i1 %less, float %product, float %b
  %most = call float @llvm.maxnum.f32(float %product, float %short)
  %double = fadd double %c, %long
  store float %chosen, ptr %out
  store float %most, ptr %out
  store double %double, ptr %out
  ret void
}
define ptx_kernel void @preserved(ptr %out, float %d, float %e) {
  %sum = fadd float %d, %e
  store float %sum, ptr %out
  ret void
}
; holds: fadd float %d, %e
; holds: , 2139095040
; lacks: fadd float %a, %b
; lacks: fmul float %sum,
; lacks: fcmp olt float %product
; lacks: fpext float %short to
; holds: %double = fadd double %c, %long
; lacks: denormal-fp-math
attributes #0 = { "denormal-fp-math-f32"="preserve-sign,preserve-sign" }
