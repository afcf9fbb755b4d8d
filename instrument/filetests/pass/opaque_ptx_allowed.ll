; Opaque PTX that the user has allowed is not traced, but is counted in the table.
; options: --allow-opaque-asm
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g) {
  call void asm sideeffect "frobnicate.global [$0];", "l"(ptr %g)
  store i32 1, ptr %g
  ret void
}
; opaque: 1
; expect: k store 4 proven
