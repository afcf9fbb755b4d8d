; A lane can pass an undefined value to a shuffle that uses only another lane's value, so no parameter may be `noundef`.
target triple = "nvptx64-nvidia-cuda"

define internal i32 @first(i32 noundef %value) noinline {
  %result = add i32 %value, 1
  ret i32 %result
}

define ptx_kernel void @shuffle(ptr %out, i1 %leads, i32 %own) {
  %value = select i1 %leads, i32 %own, i32 undef
  %got = call noundef i32 @first(i32 noundef %value)
  store i32 %got, ptr %out
  ret void
}
; holds: @first(i32 %value)
; lacks: noundef
