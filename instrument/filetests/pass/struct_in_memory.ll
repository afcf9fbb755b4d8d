; Structs with pointers, stored and loaded as a whole: the pointers are global if only global pointers are stored.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %table, ptr %data, ptr %slot) {
  %s = insertvalue { i64, ptr } { i64 3, ptr poison }, ptr %data, 1
  store { i64, ptr } %s, ptr %table
  %t = load { i64, ptr }, ptr %table
  %p = extractvalue { i64, ptr } %t, 1
  store i32 1, ptr %p
  %old = cmpxchg ptr %slot, ptr null, ptr %data monotonic monotonic
  %q = extractvalue { ptr, i1 } %old, 0
  store i16 1, ptr %q
  ret void
}
; expect: k store 16 proven
; expect: k load 16 proven
; expect: k store 4 proven
; expect: k atomic_cas 8 proven
; expect: k store 2 proven
