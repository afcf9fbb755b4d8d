; IR that LLVM's verifier rejects.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a) {
entry:
  br label %next
next:
  %p = phi ptr [ %a, %next ]
  store i32 1, ptr %p
  ret void
}
; expect: error: reading the input produced IR that LLVM rejects: PHI node entries do not match predecessors!
; expect:   %p = phi ptr [ %a, %next ]
; expect: label %next
; expect: label %entry
