; The barrier of a cooperative kernel is not a site: its address is computed from registers that the driver sets. An
; access whose address depends only in part on these registers is a site. A grid barrier that
; no CTA barrier follows is not marked.
; lacks: i32 -1
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g, i64 %n) {
  %low = call i32 asm "mov.u32 $0, %envreg2;", "=r"()
  %low64 = zext i32 %low to i64
  %high = call i32 asm "mov.u32 $0, %envreg1;", "=r"()
  %high64 = zext i32 %high to i64
  %upper = shl nuw i64 %high64, 32
  %address = or disjoint i64 %upper, %low64
  %workspace = inttoptr i64 %address to ptr
  %barrier = getelementptr inbounds nuw i8, ptr %workspace, i64 4
  %old = call i32 asm sideeffect "atom.add.release.gpu.u32 $0,[$1],$2;", "=r,l,r,~{memory}"(ptr nonnull %barrier, i32 1)
  %now = call i32 asm sideeffect "ld.acquire.gpu.u32 $0,[$1];", "=r,l,~{memory}"(ptr nonnull %barrier)
  %mixed = or disjoint i64 %upper, %n
  %elsewhere = inttoptr i64 %mixed to ptr
  store i32 %now, ptr %elsewhere
  store i32 %old, ptr %g
  ret void
}
; expect: k store 4 tested
; expect: k store 4 proven
