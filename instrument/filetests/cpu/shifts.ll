; PTX defines shifts by the width or more; LLVM IR does not, and x86 defines them differently.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @shift(ptr %out, i32 %value, i32 %amount, <2 x i16> %values, <2 x i16> %amounts) {
  %left = shl i32 %value, %amount
  %right = lshr i32 %left, %amount
  %signed = ashr i32 %right, %amount
  %masked = and i32 %amount, 31
  %inside = shl i32 %signed, %masked
  %fixed = lshr i32 %inside, 7
  %lanes = lshr <2 x i16> %values, %amounts
  %number = bitcast <2 x i16> %lanes to i32
  %sum = add i32 %fixed, %number
  store i32 %sum, ptr %out
  ret void
}
; holds: %4 = select i1 %2, i32 %3, i32 0
; holds: %7 = select i1 %5, i32 %6, i32 0
; holds: %9 = select i1 %8, i32 %amount, i32 31
; holds: %signed = ashr i32 %7, %9
; holds: %inside = shl i32 %signed, %masked
; holds: %fixed = lshr i32 %inside, 7
; holds: %10 = icmp ult <2 x i16> %amounts, splat (i16 16)
; holds: %12 = select <2 x i1> %10, <2 x i16> %11, <2 x i16> zeroinitializer
