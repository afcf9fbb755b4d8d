; The error quotes invalid PTX.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g) {
  %r = call i32 asm "add.u32 $0, , 1;", "=r,r"(i32 1)
  store i32 %r, ptr %g
  ret void
}
; expect: error: unknown location: the CPU backend cannot read the PTX near `add.u32 $0 , , 1 ;`, in asm "add.u32 $0, , 1;"; run this program with --backend cuda
