; A cast keeps a pointer's space, and a pointer's type proves it, even after a cast.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @k(ptr %unknown, ptr %table, i64 %n) {
  %l = alloca i32
  store ptr addrspacecast (ptr addrspace(3) @s to ptr), ptr %table
  %any = load ptr, ptr %table
  %global = addrspacecast ptr %any to ptr addrspace(1)
  store i8 1, ptr addrspace(1) %global
  %generic = addrspacecast ptr addrspace(1) %global to ptr
  store i16 2, ptr %generic
  %shared = addrspacecast ptr %any to ptr addrspace(3)
  store i32 3, ptr addrspace(3) %shared
  %local = addrspacecast ptr %l to ptr addrspace(5)
  store i32 4, ptr addrspace(5) %local
  %again = addrspacecast ptr addrspace(5) %local to ptr
  store i32 5, ptr %again
  %constant = addrspacecast ptr %any to ptr addrspace(4)
  %v = load i32, ptr addrspace(4) %constant
  %frozen = freeze ptr %unknown
  store i32 %v, ptr %frozen
  store i64 6, ptr %any
  ret void
}
; expect: k store 8 proven
; expect: k load 8 proven
; expect: k store 1 proven
; expect: k store 2 proven
; expect: k store 4 proven
; expect: k store 8 tested
