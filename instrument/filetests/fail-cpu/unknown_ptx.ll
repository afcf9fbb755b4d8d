; The error names the instruction and its position.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %g) !dbg !3 {
  %r = call i32 asm "add.u32 $0, $1, 1; getctarank.none.u32 $0;", "=r,r"(i32 1), !dbg !5
  store i32 %r, ptr %g
  ret void
}
!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !2, emissionKind: FullDebug)
!2 = !DIFile(filename: "k.cu", directory: "")
!3 = distinct !DISubprogram(name: "k", file: !2, line: 1, type: !4, unit: !1, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 7, column: 3, scope: !3)
; expect: error: k.cu:7: the CPU backend does not support the PTX instruction `getctarank.none.u32`, in asm "add.u32 $0, $1, 1; getctarank.none.u32 $0;"; run this program with --backend cuda
