; A GPU rejects misaligned addresses. The start of an array is checked: a parameter of the kernel, or
; a pointer that it loads. Variables of the module need no check, nor do members of packed structures.
target triple = "nvptx64-nvidia-cuda"

@bytes = internal addrspace(1) global [64 x i8] zeroinitializer
@shared = external addrspace(3) global [0 x i8], align 1

define ptx_kernel void @arrays(ptr %in, ptr byval({ i64, ptr }) %pair, i32 %index) {
  %local = alloca [16 x i8], align 1
  %wide = sext i32 %index to i64
  %element = getelementptr inbounds i32, ptr %in, i64 %wide
  %one = load i32, ptr %element
  %four = shl i64 %wide, 2
  %vector = getelementptr inbounds float, ptr %in, i64 %four
  %two = load <4 x float>, ptr %vector, align 16
  %packed = getelementptr i8, ptr %in, i64 %wide
  %three = load i32, ptr %packed, align 1
  %place = getelementptr inbounds i8, ptr %pair, i64 8
  %member = load ptr, ptr %place
  store i64 1, ptr %member
  store i32 %one, ptr %local
  store i32 %three, ptr addrspace(1) @bytes
  %next = getelementptr i8, ptr addrspace(3) @shared, i32 8
  store i64 2, ptr addrspace(3) %next
  ret void
}

define ptx_kernel void @rows(ptr %rows, i32 %index) {
  %wide = sext i32 %index to i64
  %place = getelementptr inbounds ptr, ptr %rows, i64 %wide
  %row = load ptr, ptr %place
  store i32 1, ptr %row
  ret void
}
; holds: @bytes = internal addrspace(1) global [64 x i8] zeroinitializer, align 4
; holds: alloca [16 x i8], align 4
; Once in the kernel itself, and once in the loop over threads.
; holds 10 times: call void @__superstep_misaligned(
; holds 1 times: call void @__superstep_misaligned(ptr %in, i64 15,
; holds 1 times: call void @__superstep_misaligned(ptr %rows, i64 7,
