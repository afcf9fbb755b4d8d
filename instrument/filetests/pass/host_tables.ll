; Clang keeps every constant of the host in constant memory. Where that is too small, those that no kernel names are left out.
target triple = "nvptx64-nvidia-cuda"
@host = addrspace(4) externally_initialized constant [100000 x i32] zeroinitializer
@named = addrspace(4) externally_initialized constant [4 x i32] zeroinitializer
@written = addrspace(4) externally_initialized global [4 x i32] zeroinitializer
@llvm.compiler.used = appending global [3 x ptr] [ptr addrspacecast (ptr addrspace(4) @host to ptr), ptr addrspacecast (ptr addrspace(4) @named to ptr), ptr addrspacecast (ptr addrspace(4) @written to ptr)], section "llvm.metadata"
define ptx_kernel void @k(ptr %data) {
  %value = load i32, ptr addrspace(4) @named
  store i32 %value, ptr %data
  ret void
}
; lacks: @host
; holds: @named =
; holds: @written =
; expect: k store 4 proven
