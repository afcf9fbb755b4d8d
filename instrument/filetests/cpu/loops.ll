; A kernel without barriers is one loop around its body; a kernel with barriers has a region before and after each.
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [64 x i32] undef, align 4

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)

; Uses functions of the support library, so that they are not removed.
define void @__superstep_nvvm_barrier_cta_sync_aligned_all(i32 %id) noinline {
  ret void
}
define i32 @__superstep_nvvm_shfl_sync_down_i32(i32 %mask, i32 %value, i32 %b, i32 %c) noinline {
  ret i32 %value
}
define ptx_kernel void @support(ptr %out) {
  call void @__superstep_nvvm_barrier_cta_sync_aligned_all(i32 0)
  %value = call i32 @__superstep_nvvm_shfl_sync_down_i32(i32 0, i32 0, i32 0, i32 0)
  store i32 %value, ptr %out
  ret void
}

define ptx_kernel void @plain(ptr %out) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i32, ptr %out, i32 %x
  store i32 %x, ptr %place
  ret void
}

; A value that is loaded before the barrier is kept in the frame; the coordinates are not.
define ptx_kernel void @meets(ptr %out) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i32, ptr %out, i32 %x
  %loaded = load i32, ptr %place
  %shared = getelementptr i32, ptr addrspace(3) @tile, i32 %x
  store i32 %loaded, ptr addrspace(3) %shared
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %other = xor i32 %x, 1
  %theirs = getelementptr i32, ptr addrspace(3) @tile, i32 %other
  %value = load i32, ptr addrspace(3) %theirs
  %sum = add i32 %value, %loaded
  store i32 %sum, ptr %place
  ret void
}

; Threads that wait for other lanes run as fibers.
define ptx_kernel void @shuffles(ptr %out) {
  %value = load i32, ptr %out
  %other = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %value, i32 1, i32 31)
  store i32 %other, ptr %out
  ret void
}
; So do threads that wait at a named barrier.
define ptx_kernel void @named(ptr %out) {
  store i32 1, ptr %out
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 1)
  store i32 2, ptr %out
  ret void
}
; holds: define internal i32 @superstep.step.plain(ptr %0, ptr %1, i32 %2, i32 %3, i32 %4)
; holds: define internal i32 @superstep.step.meets(
; holds: define internal i32 @superstep.region.meets.0(
; holds: define internal i32 @superstep.region.meets.1(
; lacks: @superstep.region.meets.2(
; lacks: @superstep.step.shuffles
; lacks: @superstep.step.named
; lacks: @superstep.body.meets
