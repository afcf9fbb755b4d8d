; A device variable is in global memory, whatever form its address takes.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@g = addrspace(1) global [8 x i32] zeroinitializer
define ptx_kernel void @k(i64 %i) {
  %a = load i32, ptr addrspace(1) @g
  %p = getelementptr i32, ptr addrspacecast (ptr addrspace(1) @g to ptr), i64 %i
  store i32 %a, ptr %p
  store i16 2, ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(1) @g to ptr), i64 4)
  ret void
}
; expect: k load 4 proven
; expect: k store 4 proven
; expect: k store 2 proven
