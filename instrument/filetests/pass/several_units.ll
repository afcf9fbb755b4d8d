; Accesses in a function of another unit that is called with opposite spaces are proven, and static functions with the
; same name are distinct. One of the two units was compiled with -use_fast_math.
; options: --whole-program filetests/units/copy.ll
source_filename = "main.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [4 x float] undef
declare void @_Z4copyPfPKf(ptr, ptr)
define internal i32 @_ZL4samev() noinline {
  ret i32 1
}
define ptx_kernel void @k(ptr %data, ptr %numbers) {
  call void @_Z4copyPfPKf(ptr addrspacecast (ptr addrspace(3) @tile to ptr), ptr %data)
  call void @_Z4copyPfPKf(ptr %data, ptr addrspacecast (ptr addrspace(3) @tile to ptr))
  %number = call i32 @_ZL4samev()
  store i32 %number, ptr %numbers
  ret void
}
; holds: load i32, ptr addrspace(1) @_ZL5count__static__0123456789abcdef
; lacks: @_ZL5count =
!llvm.module.flags = !{!0}
!0 = !{i32 4, !"nvvm-reflect-ftz", i32 1}
; expect: _Z4copyPfPKf store 4 proven
; expect: _ZL4samev load 4 proven
; expect: _Z7unit_onPi store 4 proven
; expect: k store 4 proven
; expect: _Z4copyPfPKf.copy_1 load 4 proven
