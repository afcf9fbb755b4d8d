; The optional last argument of an asynchronous copy is the number of bytes read from global memory; shared memory is
; not traced.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3), ptr addrspace(1), i32)
@s = internal addrspace(3) global [16 x i8] undef, align 16
define ptx_kernel void @k(ptr addrspace(1) %g, i32 %n) {
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) @s, ptr addrspace(1) %g)
  call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) @s, ptr addrspace(1) %g, i32 %n)
  ret void
}
; expect: k load 4 proven
; expect: k load 0 proven
