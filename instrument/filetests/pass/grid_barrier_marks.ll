; Threads that have passed a grid barrier are marked after the CTA barrier that ends it, even if they use shared memory
; between their arrival and the wait, but not in a kernel whose threads access global memory between the two.
; holds 2 times: i32 -1, ptr null, i32 0)
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare void @llvm.nvvm.barrier.cta.sync.all(i32)
define ptx_kernel void @sync(ptr %g, i1 %first, ptr addrspace(3) %own) {
  %low = call i32 asm "mov.u32 $0, %envreg2;", "=r"()
  %low64 = zext i32 %low to i64
  %high = call i32 asm "mov.u32 $0, %envreg1;", "=r"()
  %high64 = zext i32 %high to i64
  %upper = shl nuw i64 %high64, 32
  %address = or disjoint i64 %upper, %low64
  %workspace = inttoptr i64 %address to ptr
  %barrier = getelementptr inbounds nuw i8, ptr %workspace, i64 4
  call void @llvm.nvvm.barrier.cta.sync.all(i32 0)
  br i1 %first, label %arrive, label %arrived
arrive:
  %new = call i32 asm sideeffect "atom.add.release.gpu.u32 $0,[$1],$2;", "=r,l,r,~{memory}"(ptr nonnull %barrier, i32 1)
  br label %arrived
arrived:
  %old = phi i32 [ 0, %0 ], [ %new, %arrive ]
  br i1 %first, label %poll, label %done
poll:
  %now = call i32 asm sideeffect "ld.acquire.gpu.u32 $0,[$1];", "=r,l,~{memory}"(ptr nonnull %barrier)
  %flipped = xor i32 %now, %old
  %open = icmp slt i32 %flipped, 0
  br i1 %open, label %done, label %poll
done:
  call void @llvm.nvvm.barrier.cta.sync.all(i32 0)
  store i32 1, ptr %g
  ret void
}
define ptx_kernel void @works_in_shared_memory(ptr %g, i1 %first, ptr addrspace(3) %own) {
  %low = call i32 asm "mov.u32 $0, %envreg2;", "=r"()
  %low64 = zext i32 %low to i64
  %high = call i32 asm "mov.u32 $0, %envreg1;", "=r"()
  %high64 = zext i32 %high to i64
  %upper = shl nuw i64 %high64, 32
  %address = or disjoint i64 %upper, %low64
  %workspace = inttoptr i64 %address to ptr
  %barrier = getelementptr inbounds nuw i8, ptr %workspace, i64 4
  call void @llvm.nvvm.barrier.cta.sync.all(i32 0)
  br i1 %first, label %arrive, label %arrived
arrive:
  %new = call i32 asm sideeffect "atom.add.release.gpu.u32 $0,[$1],$2;", "=r,l,r,~{memory}"(ptr nonnull %barrier, i32 1)
  br label %arrived
arrived:
  %old = phi i32 [ 0, %0 ], [ %new, %arrive ]
  call void @llvm.nvvm.barrier.cta.sync.all(i32 0)
  store i32 1, ptr addrspace(3) %own
  br i1 %first, label %poll, label %done
poll:
  %now = call i32 asm sideeffect "ld.acquire.gpu.u32 $0,[$1];", "=r,l,~{memory}"(ptr nonnull %barrier)
  %flipped = xor i32 %now, %old
  %open = icmp slt i32 %flipped, 0
  br i1 %open, label %done, label %poll
done:
  call void @llvm.nvvm.barrier.cta.sync.all(i32 0)
  store i32 1, ptr %g
  ret void
}
define ptx_kernel void @stores_before_the_wait(ptr %g, i1 %first, ptr addrspace(3) %own) {
  %low = call i32 asm "mov.u32 $0, %envreg2;", "=r"()
  %low64 = zext i32 %low to i64
  %high = call i32 asm "mov.u32 $0, %envreg1;", "=r"()
  %high64 = zext i32 %high to i64
  %upper = shl nuw i64 %high64, 32
  %address = or disjoint i64 %upper, %low64
  %workspace = inttoptr i64 %address to ptr
  %barrier = getelementptr inbounds nuw i8, ptr %workspace, i64 4
  call void @llvm.nvvm.barrier.cta.sync.all(i32 0)
  br i1 %first, label %arrive, label %arrived
arrive:
  %new = call i32 asm sideeffect "atom.add.release.gpu.u32 $0,[$1],$2;", "=r,l,r,~{memory}"(ptr nonnull %barrier, i32 1)
  br label %arrived
arrived:
  %old = phi i32 [ 0, %0 ], [ %new, %arrive ]
  store i32 %old, ptr %g
  br i1 %first, label %poll, label %done
poll:
  %now = call i32 asm sideeffect "ld.acquire.gpu.u32 $0,[$1];", "=r,l,~{memory}"(ptr nonnull %barrier)
  %flipped = xor i32 %now, %old
  %open = icmp slt i32 %flipped, 0
  br i1 %open, label %done, label %poll
done:
  call void @llvm.nvvm.barrier.cta.sync.all(i32 0)
  store i32 1, ptr %g
  ret void
}
; expect: sync store 4 proven
; expect: works_in_shared_memory store 4 proven
; expect: stores_before_the_wait store 4 proven
; expect: stores_before_the_wait store 4 proven
