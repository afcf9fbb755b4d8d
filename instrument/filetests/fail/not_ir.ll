; Text that is not IR.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
this is not IR
; expect: error: failed to read not_ir.ll: not_ir.ll:4:1: error: expected top-level entity
; expect: this is not IR
; expect: ^
