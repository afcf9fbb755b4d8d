; The upper half of a product depends on the signs. All operands are constants, so the lines below contain the results.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @products(ptr %out) {
  %signed = call i32 asm "mul.hi.s32 $0, $1, $2;", "=r,r,r"(i32 -1, i32 2)
  store i32 %signed, ptr %out
  %unsigned = call i32 asm "mul.hi.u32 $0, $1, $2;", "=r,r,r"(i32 -1, i32 2)
  store i32 %unsigned, ptr %out
  %multiply_add = call i32 asm "mad.hi.s32 $0, $1, $2, $3;", "=r,r,r,r"(i32 -65536, i32 65536, i32 -7)
  store i32 %multiply_add, ptr %out
  %low = call i32 asm "mul.lo.s32 $0, $1, $2;", "=r,r,r"(i32 -3, i32 5)
  store i32 %low, ptr %out
  %carried = call i32 asm "{ .reg .u32 low; add.cc.u32 low, $1, $2; addc.u32 $0, $3, 0; }", "=r,r,r,r"(i32 -1, i32 1, i32 41)
  store i32 %carried, ptr %out
  ret void
}
; holds: store i32 -1, ptr addrspace(1) %1, align 4
; holds: store i32 1, ptr addrspace(1) %1, align 4
; holds: store i32 -8, ptr addrspace(1) %1, align 4
; holds: store i32 -15, ptr addrspace(1) %1, align 4
; holds: store i32 42, ptr addrspace(1) %1, align 4
