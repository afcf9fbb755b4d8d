; Pointers in structures in global, shared and local memory point to global memory if no other address is stored;
; accesses to the structures themselves are traced only in global memory.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
%S = type { ptr, i32, ptr }
@shared = internal addrspace(3) global %S undef
define ptx_kernel void @k(ptr %list) {
  %local = alloca %S
  %member = getelementptr inbounds %S, ptr %list, i64 0, i32 2
  %next = load ptr, ptr %member
  %number = getelementptr inbounds %S, ptr %next, i64 0, i32 1
  %v = load i32, ptr %number
  %own = getelementptr inbounds %S, ptr %local, i64 0, i32 2
  store ptr %next, ptr %own
  %same = load ptr, ptr %own
  store i32 %v, ptr %same
  store ptr %same, ptr addrspacecast (ptr addrspace(3) @shared to ptr)
  %back = load ptr, ptr addrspacecast (ptr addrspace(3) @shared to ptr)
  store i64 7, ptr %back
  ret void
}
; expect: k load 8 proven
; expect: k load 4 proven
; expect: k store 4 proven
; expect: k store 8 proven
