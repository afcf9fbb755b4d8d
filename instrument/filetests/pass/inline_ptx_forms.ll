; Offsets, predicates that compare with zero, addresses given as numbers, asynchronous copies and matrix loads from
; shared memory.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [64 x i32] undef
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3))
define ptx_kernel void @offset(ptr %g) {
  %a = call float asm sideeffect "ld.global.f32 $0, [$1+8];", "=f,l"(ptr %g)
  ret void
}
; holds: getelementptr inbounds i8, ptr %g, i64 8
define ptx_kernel void @predicate(ptr %g, i32 %condition) {
  call void asm sideeffect "{ .reg .pred p; setp.ne.b32 p, $2, 0; @!p st.global.u16 [$0], $1; }", "l,h,r"(ptr %g, i16 1, i32 %condition)
  ret void
}
; holds: icmp eq i32 %condition, 0
define ptx_kernel void @number(ptr %g) {
  %address = ptrtoint ptr %g to i64
  %a = call i64 asm sideeffect "ld.global.u64 $0, [$1];", "=l,l"(i64 %address)
  %b = call i8 asm sideeffect "ld.u8 $0, [$1];", "=r,l"(i64 %address)
  ret void
}
define ptx_kernel void @copies(ptr %g, i32 %bytes) {
  %to = ptrtoint ptr addrspace(3) @tile to i32
  call void asm sideeffect "cp.async.cg.shared.global [$0], [$1], 16;", "r,l"(i32 %to, ptr %g)
  call void asm sideeffect "cp.async.ca.shared.global [$0], [$1], 4, $2;", "r,l,r"(i32 %to, ptr %g, i32 %bytes)
  call void asm sideeffect "cp.async.wait_all;", ""()
  %m = call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) @tile)
  ret void
}
; expect: offset load 4 proven
; expect: predicate store 2 proven
; expect: number load 8 proven
; expect: number load 1 tested
; expect: copies load 16 proven
; expect: copies load 0 proven
