; Two units that define the same function.
; options: --whole-program filetests/units/copy.ll
source_filename = "main.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define void @_Z4copyPfPKf(ptr %to, ptr %from) {
  ret void
}
; expect: error: failed to link the device code of main.cu with that of the other units: Linking globals named '_Z4copyPfPKf': symbol multiply defined!; make one definition static, or leave out -fgpu-rdc if no unit uses device code from another
