; PTX instructions with LLVM equivalents are built in place; guards and branches become blocks; unused code is removed.
; Functions of the support library have the names of their instructions.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g, i32 %a, i32 %b) {
  %fused = call float asm "fma.rn.f32 $0, $1, $2, $3;", "=f,f,f,f"(float 2.0, float 3.0, float 4.0)
  store float %fused, ptr %g
  %carried = call i32 asm "{ .reg .u32 t; add.cc.u32 t, $1, $2; addc.u32 $0, 0, 0; }", "=r,r,r"(i32 %a, i32 %b)
  store i32 %carried, ptr %g
  %unused = call i32 asm "istypep.texref $0, $1;", "=r,l"(ptr %g) memory(none)
  %chosen = call i32 asm "{ .reg .pred p; setp.gt.s32 p, $1, 7; @p bra L; add.u32 $0, $0, 1; L: }", "=r,r,0"(i32 %a, i32 %b)
  store i32 %chosen, ptr %g
  ret void
}
; holds: call float @llvm.fma.f32
; holds: icmp sgt i32
; holds: br i1
; holds: load volatile i32
; lacks: asm
define ptx_kernel void @loads(ptr %g) {
  %seen = call i32 asm sideeffect "ld.relaxed.gpu.global.u32 $0, [$1];", "=r,l,~{memory}"(ptr %g)
  store i32 %seen, ptr %g
  ret void
}
; Vectors that other CTAs read are transferred in one access, as on a GPU: CUB's scans store a state next to a sum.
define ptx_kernel void @atomic_vectors(ptr %g, ptr %h, i64 %a) {
  %pair = call { i32, i32 } asm sideeffect "ld.relaxed.gpu.v2.u32 {$0, $1}, [$2];", "=r,=r,l,~{memory}"(ptr %g)
  %state = extractvalue { i32, i32 } %pair, 0
  store i32 %state, ptr %g
  call void asm sideeffect "st.relaxed.gpu.v2.u64 [$0], {$1, $2};", "l,l,l,~{memory}"(ptr %h, i64 %a, i64 7)
  ret void
}
; holds: load volatile i64
; holds: store volatile <2 x i64>
; lacks: store volatile i64
; A vector is two registers with one name.
define ptx_kernel void @vector(ptr %g) {
  %sum = call i32 asm sideeffect "{ .reg .v2 .b32 p, q; ld.global.v2.b32 p, [$1]; mov.v2.b32 q, p; mov.b32 q.y, 98765; st.global.v2.b32 [$1], q; add.u32 $0, q.x, q.y; }", "=r,l,~{memory}"(ptr %g)
  store i32 %sum, ptr %g
  ret void
}
; holds: store i32 98765
