; Inline PTX with undeclared effects: if its result is used, the instruction is kept and has a site. Otherwise, it
; is removed, as with nvcc.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g) {
  %old = call i32 asm "atom.global.add.u32 $0, [$1], 1;", "=r,l"(ptr %g) memory(none)
  store i32 %old, ptr %g
  %unused = call i32 asm "atom.global.max.u32 $0, [$1], 1;", "=r,l"(ptr %g) memory(none)
  ret void
}
; holds: asm sideeffect "atom.global.add.u32
; lacks: atom.global.max.u32
; expect: k atomic_add 4 proven
; expect: k store 4 proven
