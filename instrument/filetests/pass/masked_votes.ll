; The names of vote intrinsics end in `sync`; those of shuffles have it in the middle. All GPUs support both.
; options: --target-cpu sm_90
target triple = "nvptx64-nvidia-cuda"
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
define ptx_kernel void @k(ptr %data) {
  %value = load i32, ptr %data
  %odd = trunc i32 %value to i1
  %any = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %odd)
  %ballot = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %any)
  %next = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %ballot, i32 1, i32 31)
  store i32 %next, ptr %data
  ret void
}
; expect: k load 4 proven
; expect: k store 4 proven
