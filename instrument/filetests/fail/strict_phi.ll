; Figure 5.5 of the thesis: the error names both origins and the line.
; options: --strict
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [8 x i32] undef
define ptx_kernel void @k(ptr %a, i1 %c) !dbg !2 {
entry:
  br i1 %c, label %left, label %join
left:
  br label %join
join:
  %p = phi ptr [ %a, %entry ], [ addrspacecast (ptr addrspace(3) @s to ptr), %left ]
  store i32 1, ptr %p, !dbg !4
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "figure_5_5.cu", directory: "/src")
!2 = distinct !DISubprogram(name: "k", file: !1, line: 1, unit: !0)
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !DILocation(line: 9, column: 6, scope: !2)
; expect: error: figure_5_5.cu:9: the address of this store in k may be in global memory, through parameter 0 of kernel k, or elsewhere, through shared variable s; leave out --strict to test it when the program runs
