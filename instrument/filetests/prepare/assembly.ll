; Inline PTX whose effects Clang does not know. As with nvcc, it is neither merged nor moved if its result is used, and
; is removed otherwise, even if it has effects. Inline PTX from Clang's headers is kept (their functions are inlined
; here).
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define internal { float, float } @atomicAdd(ptr %p, float %x) #0 !dbg !5 {
  %old = call { float, float } asm "atom.add.v2.f32 {$0, $1}, [$2], {$3, $4};", "=f,=f,l,f,f"(ptr %p, float %x, float %x) #1, !dbg !8
  ret { float, float } %old
}
define internal i32 @__ldcg(ptr %p) #0 !dbg !9 {
  %value = call i32 asm "ld.global.cg.u32 $0, [$1];", "=r,l"(ptr %p) #1, !dbg !10
  ret i32 %value
}
define ptx_kernel void @k(ptr %p, ptr %q, i32 %n) #0 !dbg !6 {
  %1 = call { float, float } @atomicAdd(ptr %p, float 1.0), !dbg !11
  %2 = call i32 @__ldcg(ptr %p), !dbg !11
  %a = call i32 asm "ld.global.u32 $0, [$1];", "=r,l"(ptr %q) #1, !dbg !11
  store i32 %n, ptr %q
  %b = call i32 asm "ld.global.u32 $0, [$1];", "=r,l"(ptr %q) #1, !dbg !11
  %c = call i32 asm "atom.global.add.u32 $0, [$1], 1;", "=r,l"(ptr %p) #1, !dbg !11
  %d = call i32 asm "atom.global.add.u32 $0, [$1], 1;", "=r,l"(ptr %p) #1, !dbg !11
  %3 = call i32 asm "ld.global.u16 $0, [$1];", "=r,l"(ptr %q) #1, !dbg !11
  %4 = call i32 asm "bfe.u32 $0, $1, 0, 8;", "=r,r"(i32 %n) #1, !dbg !11
  %5 = call i32 asm "atom.global.max.u32 $0, [$1], 1;", "=r,l"(ptr %p) #1, !dbg !11
  %6 = call i32 asm "atom.global.min.u32 $0, [$1], 1;", "=r,l,~{memory}"(ptr %p) #2, !dbg !11
  %ab = sub i32 %a, %b
  %cd = add i32 %c, %d
  %sum = add i32 %ab, %cd
  store i32 %sum, ptr %q
  ret void
}
attributes #0 = { convergent mustprogress nounwind }
attributes #1 = { convergent nounwind memory(none) }
attributes #2 = { convergent nounwind }
!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !2, emissionKind: LineTablesOnly)
!2 = !DIFile(filename: "k.cu", directory: "")
!3 = !DIFile(filename: "/usr/lib/clang/22/include/__clang_cuda_intrinsics.h", directory: "")
!4 = !DISubroutineType(types: !{})
!5 = distinct !DISubprogram(name: "atomicAdd", file: !3, line: 1, type: !4, unit: !1, spFlags: DISPFlagDefinition)
!6 = distinct !DISubprogram(name: "k", file: !2, line: 1, type: !4, unit: !1, spFlags: DISPFlagDefinition)
!8 = !DILocation(line: 2, column: 1, scope: !5)
!9 = distinct !DISubprogram(name: "__ldcg", file: !3, line: 4, type: !4, unit: !1, spFlags: DISPFlagDefinition)
!10 = !DILocation(line: 5, column: 1, scope: !9)
!11 = !DILocation(line: 7, column: 1, scope: !6)
; holds 1 times: asm sideeffect "atom.add.v2.f32 {$0, $1}, [$2], {$3, $4};", "=f,=f,l,f,f,~{memory}"
; holds 1 times: asm sideeffect "ld.global.cg.u32 $0, [$1];", "=r,l,~{memory}"
; holds 2 times: asm sideeffect "ld.global.u32 $0, [$1];", "=r,l,~{memory}"
; holds 2 times: asm sideeffect "atom.global.add.u32 $0, [$1], 1;", "=r,l,~{memory}"
; holds 1 times: atom.global.min.u32
; lacks: ld.global.u16
; lacks: bfe.u32
; lacks: atom.global.max
