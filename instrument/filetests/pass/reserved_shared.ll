; Cooperative groups use PTX to get shared memory that CUDA reserves: atomics on it do not access global memory.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %out) {
  %number = call i64 asm "{\0A\09 .reg .u32 start;\0A\09 .reg .u64 extended;\0A\09 mov.u32 start, %reserved_smem_offset_1;\0A\09 cvt.u64.u32 extended, start;\0A\09 cvta.shared.u64 $0, extended;\0A\09}", "=l"()
  %address = inttoptr i64 %number to ptr
  %barrier = getelementptr i8, ptr %address, i64 4
  %old = call i32 asm sideeffect "atom.or.acq_rel.cta.b32 $0,[$1],$2;", "=r,l,r,~{memory}"(ptr %barrier, i32 1)
  store i32 %old, ptr %out
  ret void
}
; expect: k store 4 proven
