; Loads and stores in inline PTX are traced like others; special registers and arithmetic are not.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g) {
  %a = call float asm "ld.global.cg.f32 $0, [$1];", "=f,l"(ptr %g)
  call void asm sideeffect "st.v2.f32 [$0], {$1, $2};", "l,f,f"(ptr %g, float %a, float %a)
  %sm = call i32 asm "mov.u32 $0, %smid;", "=r"()
  ret void
}
; expect: k load 4 proven
; expect: k store 8 proven
