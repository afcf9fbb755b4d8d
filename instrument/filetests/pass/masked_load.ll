; The vectorizer combines loads with a gap between them into one masked load, which reads up to the mask's last active
; element.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, <4 x i1>, <4 x float>)
define ptx_kernel void @k(ptr %p, ptr %out) {
  %xyz = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 16 %p, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> poison)
  %next = getelementptr i8, ptr %p, i64 16
  %xw = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 16 %next, <4 x i1> <i1 true, i1 false, i1 false, i1 true>, <4 x float> poison)
  %x = extractelement <4 x float> %xyz, i32 0
  %w = extractelement <4 x float> %xw, i32 3
  %sum = fadd float %x, %w
  store float %sum, ptr %out
  ret void
}
; expect: k load 12 proven
; expect: k load 16 proven
; expect: k store 4 proven
