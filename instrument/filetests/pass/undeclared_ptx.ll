; What inline PTX writes happens whether or not it says so: each site has its instruction, which stays. A load that nothing uses has neither.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g) {
  %old = call { float, float } asm "atom.add.v2.f32 {$0, $1}, [$2], {$3, $4};", "=f,=f,l,f,f"(ptr %g, float 1.0, float 2.0) memory(none)
  %unused = call i32 asm "ld.global.u32 $0, [$1];", "=r,l"(ptr %g) memory(none)
  ret void
}
; holds: asm sideeffect "atom.add.v2.f32
; lacks: ld.global.u32
; expect: k atomic_add 8 proven
