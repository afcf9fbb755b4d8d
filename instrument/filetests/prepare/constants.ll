; Only variables that are `__constant__` (annotated) are in constant memory. The front end creates no lookup table for a
; `switch` that selects numbers, but later passes may create a jump table.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
$inline = comdat any
@table = internal addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 16
@visible = addrspace(4) externally_initialized constant [4 x i32] [i32 5, i32 6, i32 7, i32 8], align 4
@inline = linkonce_odr addrspace(4) externally_initialized constant [2 x i32] [i32 5, i32 6], comdat, align 4
@declared = internal addrspace(4) constant [4 x i32] [i32 9, i32 8, i32 7, i32 6], align 4
@elsewhere = external addrspace(4) global [4 x i32], align 4
@.str = private unnamed_addr constant [19 x i8] c"superstep-constant\00", section "llvm.metadata"
@.str1 = private unnamed_addr constant [5 x i8] c"k.cu\00", section "llvm.metadata"
@llvm.global.annotations = appending global [1 x { ptr, ptr, ptr, i32, ptr }] [{ ptr, ptr, ptr, i32, ptr } { ptr addrspacecast (ptr addrspace(4) @declared to ptr), ptr @.str, ptr @.str1, i32 1, ptr null }], section "llvm.metadata"
@llvm.compiler.used = appending global [2 x ptr] [ptr addrspacecast (ptr addrspace(4) @visible to ptr), ptr addrspacecast (ptr addrspace(4) @inline to ptr)], section "llvm.metadata"
define ptx_kernel void @k(ptr %out, i64 %i, i32 %n) #0 {
entry:
  %a = getelementptr i32, ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 %i
  %b = getelementptr i32, ptr addrspacecast (ptr addrspace(4) @visible to ptr), i64 %i
  %c = getelementptr i32, ptr addrspacecast (ptr addrspace(4) @declared to ptr), i64 %i
  %d = getelementptr i32, ptr addrspacecast (ptr addrspace(4) @elsewhere to ptr), i64 %i
  %e = getelementptr i32, ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 2
  %va = load i32, ptr %a
  store volatile i32 %va, ptr %out
  %vb = load i32, ptr %b
  store volatile i32 %vb, ptr %out
  %vc = load i32, ptr %c
  store volatile i32 %vc, ptr %out
  %vd = load i32, ptr %d
  store volatile i32 %vd, ptr %out
  %ve = load i32, ptr %e
  store volatile i32 %ve, ptr %out
  switch i32 %n, label %rest [
    i32 0, label %zero
    i32 1, label %one
    i32 2, label %two
    i32 3, label %three
    i32 4, label %four
  ]
zero:
  br label %rest
one:
  br label %rest
two:
  br label %rest
three:
  br label %rest
four:
  br label %rest
rest:
  %chosen = phi i32 [ 0, %entry ], [ 17, %zero ], [ 5, %one ], [ 99, %two ], [ 1234, %three ], [ -7, %four ]
  store volatile i32 %chosen, ptr %out
  ret void
}
attributes #0 = { convergent mustprogress nounwind "no-jump-tables"="true" }
; holds: @table = internal unnamed_addr addrspace(1) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 16
; holds: @visible = addrspace(1) externally_initialized constant
; holds: @declared = internal unnamed_addr addrspace(4) constant
; holds: @elsewhere = external local_unnamed_addr addrspace(4) global
; holds: store volatile i32 3
; lacks: llvm.global.annotations
; lacks: switch.table
; lacks: no-jump-tables
