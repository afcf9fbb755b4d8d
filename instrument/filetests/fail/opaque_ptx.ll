; Inline PTX whose accesses cannot be determined is rejected; the error quotes it.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g) {
  call void asm sideeffect "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [$0], [$0], 16;", "l"(ptr %g)
  ret void
}
; expect: error: unknown location: `asm "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [$0], [$0], 16;"` in k accesses memory in a way that Superstep cannot trace yet; rewrite it with a CUDA function, or accept it untraced with --allow-opaque-asm
