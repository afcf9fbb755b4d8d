; fmin and fmax of zeros with different signs.
target triple = "nvptx64-nvidia-cuda"

declare float @llvm.minnum.f32(float, float)
declare double @llvm.maxnum.f64(double, double)

define ptx_kernel void @bound(ptr %out, float %a, float %b, double %c, double %d) {
  %least = call float @llvm.minnum.f32(float %a, float %b)
  %most = call double @llvm.maxnum.f64(double %c, double %d)
  store float %least, ptr %out
  store double %most, ptr %out
  ret void
}
; holds: = or i32
; holds: = call float @llvm.minnum.f32(float %a, float %b)
; holds: = fcmp oeq float %a, %b
; holds: = and i64
