; An aggregating handler has memory in each function; it receives that memory wherever the function may end.
; options: --adds-up
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.nvvm.exit()

define ptx_kernel void @k(ptr addrspace(1) %in, i1 %now, i1 %later) {
  %value = load volatile i32, ptr addrspace(1) %in
  br i1 %now, label %ends, label %goes_on
ends:
  call void @llvm.nvvm.exit()
  unreachable
goes_on:
  call void asm sideeffect "{ .reg .pred p; setp.ne.b32 p, $0, 0; @p exit; }", "r"(i32 %value)
  br i1 %later, label %first, label %second
first:
  ret void
second:
  store volatile i32 1, ptr addrspace(1) %in
  ret void
}
; expect: k load 4 proven
; expect: k store 4 proven
; holds: call void @__superstep_probe_begin(ptr %superstep.context, i64 %superstep.launch, ptr %1)
; holds 4 times: call void @__superstep_probe_end(ptr %superstep.context, i64 %superstep.launch, ptr %1)
