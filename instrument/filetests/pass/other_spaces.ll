; Shared, local and constant memory are not traced, whatever form the address takes.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
@c = addrspace(4) externally_initialized global [8 x i32] zeroinitializer
define ptx_kernel void @k(ptr %out, i64 %i) {
  %l = alloca [8 x i32]
  %sp = getelementptr i32, ptr addrspacecast (ptr addrspace(3) @s to ptr), i64 %i
  %lp = getelementptr i32, ptr %l, i64 %i
  %a = load i32, ptr %sp
  store i32 %a, ptr %lp
  %b = load i32, ptr addrspacecast (ptr addrspace(4) @c to ptr)
  %d = load i32, ptr %lp
  %e = add i32 %b, %d
  store i32 %e, ptr %out
  ret void
}
; expect: k store 4 proven
