; Addresses of shared and local memory have 32 bits on a GPU, so an unsigned index below 0 wraps around.
target triple = "nvptx64-nvidia-cuda"

@shared = internal addrspace(3) global [64 x i32] undef

define ptx_kernel void @wrap(ptr %out, i32 %index, i32 %known) {
  %local = alloca [8 x i32]
  %wide = zext i32 %index to i64
  %in.shared = getelementptr inbounds [64 x i32], ptr addrspace(3) @shared, i64 0, i64 %wide
  %one = load i32, ptr addrspace(3) %in.shared
  %in.local = getelementptr inbounds i32, ptr %local, i64 %wide
  %two = load volatile i32, ptr %in.local
  %never = zext nneg i32 %known to i64
  %shifted = shl i64 %wide, 2
  %offset = add i64 %shifted, %never
  %by.bytes = getelementptr i8, ptr addrspace(3) @shared, i64 %offset
  %three = load i32, ptr addrspace(3) %by.bytes
  %in.global = getelementptr inbounds i32, ptr %out, i64 %wide
  %sum = add i32 %one, %two
  %all = add i32 %sum, %three
  store i32 %all, ptr %in.global
  ret void
}

; So does a constant index that was computed with 32 bits (here -1, in units of integers) and that the compiler may have
; converted to bytes.
define ptx_kernel void @constant(ptr %out, i64 %i) {
  %in.shared = getelementptr inbounds i32, ptr addrspace(3) @shared, i64 %i
  %before = getelementptr i8, ptr addrspace(3) %in.shared, i64 17179869180
  %one = load i32, ptr addrspace(3) %before
  %two = load i32, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @shared, i64 4294967304)
  %sum = add i32 %one, %two
  store i32 %sum, ptr %out
  ret void
}
; holds: %before = getelementptr i8, ptr addrspace(3) %in.shared, i64 -4
; holds: i64 8
; lacks: 17179869180
; lacks: 4294967304
; holds: %5 = sext i32 %index to i64
; holds: %in.shared = getelementptr [64 x i32], ptr addrspace(3) %2, i64 0, i64 %5
; holds: %in.local = getelementptr i32, ptr addrspace(5) %4, i64 %6
; holds: %9 = add i64 %8, %never
; holds: %by.bytes = getelementptr i8, ptr addrspace(3) %2, i64 %9
; holds: %in.global = getelementptr inbounds i32, ptr addrspace(1) %3, i64 %wide

; So does an index in a function that is called only with pointers to shared memory.
define internal i32 @far(ptr %p, i32 %n) noinline {
  %index = zext i32 %n to i64
  %at = getelementptr inbounds i32, ptr %p, i64 %index
  %value = load i32, ptr %at
  ret i32 %value
}
define ptx_kernel void @calls(ptr %out, i32 %n) {
  %first = getelementptr inbounds i8, ptr addrspace(3) @shared, i64 4
  %generic = addrspacecast ptr addrspace(3) %first to ptr
  %one = call i32 @far(ptr %generic, i32 %n)
  store i32 %one, ptr %out
  ret void
}
; holds: %at = getelementptr i32, ptr %p, i64
; lacks: %at = getelementptr inbounds
