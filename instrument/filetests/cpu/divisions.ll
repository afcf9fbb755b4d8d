; Divisions that raise a signal on x86, but have a result on a GPU.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @divide(ptr %out, i32 %a, i32 %b, i64 %c) {
  %unsigned = udiv i32 %a, %b
  %signed = srem i32 %unsigned, %b
  %fixed = sdiv i32 %signed, 7
  %minus = sdiv i32 %fixed, -1
  %wide = sext i32 %minus to i64
  %long = sdiv i64 %wide, %c
  %number = trunc i64 %long to i32
  store i32 %number, ptr %out
  ret void
}
; holds: %3 = select i1 %2, i32 1, i32 %b
; holds: %4 = udiv i32 %a, %3
; holds: %5 = select i1 %2, i32 -1, i32 %4
; holds: %12 = srem i32 %5, %11
; holds: %13 = select i1 %6, i32 -1, i32 %12
; holds: %fixed = sdiv i32 %13, 7
; holds: %27 = select i1 %20, i64 -1, i64 %26
