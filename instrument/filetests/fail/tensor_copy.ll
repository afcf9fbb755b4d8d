; Tensor copies are rejected; the error quotes them.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [64 x i32] undef
define ptx_kernel void @k(ptr %map, i32 %x) {
  call void asm sideeffect "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [$0, {$1}], [$2];", "l,r,r"(ptr %map, i32 %x, i32 0)
  ret void
}
; expect: error: unknown location: `asm "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [$0, {$1}], [$2];"` in k accesses memory in a way that Superstep cannot trace yet; rewrite it with a CUDA function, or accept it untraced with --allow-opaque-asm
