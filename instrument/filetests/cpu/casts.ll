; Conversions of numbers outside the integer's range.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @cast(ptr %out, float %a, double %b) {
  %word = fptosi float %a to i32
  %long = fptoui float %a to i64
  %of_double = fptosi double %b to i32
  %number = trunc i64 %long to i32
  %sum = add i32 %word, %number
  %all = add i32 %sum, %of_double
  store i32 %all, ptr %out
  ret void
}
; holds: = call i32 @llvm.fptosi.sat.i32.f32(float %a)
; holds: %3 = call i64 @llvm.fptoui.sat.i64.f32(float %a)
; holds: %5 = select i1 %4, i64 -9223372036854775808, i64 %3
; holds: %6 = call i32 @llvm.fptosi.sat.i32.f64(double %b)
; holds: %8 = select i1 %7, i32 -2147483648, i32 %6
