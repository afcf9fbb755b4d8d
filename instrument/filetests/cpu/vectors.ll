; Loads and stores of bytes and vectors in inline PTX access only the bytes of their type, even if registers are wider.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @vectors(ptr %in, ptr %out) {
  %byte = call i32 asm "ld.global.cs.s8 $0, [$1];", "=r,l"(ptr %in)
  call void asm sideeffect "st.global.cs.u8 [$0], $1;", "l,r,~{memory}"(ptr %out, i32 %byte)
  %pair = call { i32, i32 } asm "ld.global.cg.v2.u32 {$0, $1}, [$2];", "=r,=r,l"(ptr %in)
  %high = extractvalue { i32, i32 } %pair, 1
  call void asm sideeffect "st.global.cg.v2.u32 [$0], {$1, $2};", "l,r,r,~{memory}"(ptr %out, i32 %high, i32 7)
  ret void
}
; holds: load i8, ptr
; holds: sext i8
; holds: store i8
; holds: extractvalue { i32, i32 }
; holds: store i32 7, ptr
