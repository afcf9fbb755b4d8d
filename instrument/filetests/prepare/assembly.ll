; Inline PTX that Clang takes for code without effects: what writes memory stays although nothing uses its results, and loads stay on
; their side of stores. The load and the sum that nothing uses go; what reads memory that never changes is read once.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define internal { float, float } @add(ptr %p, float %x) #0 {
  %old = call { float, float } asm "atom.add.v2.f32 {$0, $1}, [$2], {$3, $4};", "=f,=f,l,f,f"(ptr %p, float %x, float %x) #1
  ret { float, float } %old
}
define ptx_kernel void @k(ptr %p, ptr %q, i32 %n) #0 {
  %unused = call { float, float } @add(ptr %p, float 1.0)
  %a = call i32 asm "ld.global.u32 $0, [$1];", "=r,l"(ptr %q) #1
  store i32 %n, ptr %q
  %b = call i32 asm "ld.global.u32 $0, [$1];", "=r,l"(ptr %q) #1
  %c = call i32 asm "ld.global.nc.u32 $0, [$1];", "=r,l"(ptr %p) #1
  %nobody = call i32 asm "ld.global.u16 $0, [$1];", "=r,l"(ptr %q) #1
  %neither = call i32 asm "bfe.u32 $0, $1, 0, 8;", "=r,r"(i32 %n) #1
  %d = call i32 asm "ld.global.nc.u32 $0, [$1];", "=r,l"(ptr %p) #1
  %waited = call i32 asm "ld.volatile.global.u32 $0, [$1];", "=r,l"(ptr %q) #1
  %ab = sub i32 %a, %b
  %cd = add i32 %c, %d
  %sum = add i32 %ab, %cd
  store i32 %sum, ptr %q
  ret void
}
attributes #0 = { convergent mustprogress nounwind }
attributes #1 = { convergent nounwind memory(none) }
; holds 1 times: asm sideeffect "atom.add.v2.f32 {$0, $1}, [$2], {$3, $4};", "=f,=f,l,f,f,~{memory}"
; holds 2 times: asm "ld.global.u32 $0, [$1];", "=r,l,~{memory}"
; holds 1 times: asm "ld.global.nc.u32 $0, [$1];", "=r,l"
; holds 1 times: asm sideeffect "ld.volatile.global.u32 $0, [$1];", "=r,l,~{memory}"
; holds: memory(read) }
; lacks: ld.global.u16
; lacks: bfe.u32
