; Operations whose number of executions depends on waiting, and similar ones that do not.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare void @llvm.nvvm.nanosleep(i32)

; A loop that does nothing but poll; the operations after it are deterministic.
define ptx_kernel void @spin(ptr addrspace(1) %flag, ptr addrspace(1) %out) {
entry:
  br label %look
look:
  %v = load volatile i32, ptr addrspace(1) %flag
  call void @llvm.nvvm.nanosleep(i32 100)
  %is = icmp eq i32 %v, 0
  br i1 %is, label %look, label %done
done:
  %w = load i32, ptr addrspace(1) %out
  store i32 %w, ptr addrspace(1) %flag
  ret void
}

; A plain load, which the compiler could not hoist out of the loop, and an atomic load before a vote.
define ptx_kernel void @plain(ptr addrspace(1) %flag, ptr addrspace(1) %other) {
entry:
  br label %look
look:
  %v = load i32, ptr addrspace(1) %flag
  fence seq_cst
  %is = icmp eq i32 %v, 0
  br i1 %is, label %look, label %ask
ask:
  %u = load atomic i32, ptr addrspace(1) %other monotonic, align 4
  %no = icmp eq i32 %u, 0
  %any = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %no)
  br i1 %any, label %ask, label %done
done:
  ret void
}

; The sum of a linked list; it does not wait.
define ptx_kernel void @list(ptr addrspace(1) %first, ptr addrspace(1) %n, ptr addrspace(1) %out) {
entry:
  br label %next
next:
  %at = phi ptr addrspace(1) [ %first, %entry ], [ %more, %next ]
  %more = load ptr addrspace(1), ptr addrspace(1) %at
  %end = icmp eq ptr addrspace(1) %more, null
  br i1 %end, label %sum, label %next
sum:
  %i = phi i32 [ 0, %next ], [ %j, %sum ]
  %j = add i32 %i, 1
  %m = load i32, ptr addrspace(1) %n
  store i32 %j, ptr addrspace(1) %out
  %is = icmp slt i32 %j, %m
  br i1 %is, label %sum, label %done
done:
  ret void
}

; Sums whose number of terms is read from memory: the loops count up to it and end on their own.
define ptx_kernel void @count(ptr addrspace(1) %n, ptr addrspace(1) %data, ptr addrspace(1) %out) {
entry:
  br label %sum
sum:
  %i = phi i32 [ 0, %entry ], [ %j, %sum ]
  %s = phi i32 [ 0, %entry ], [ %t, %sum ]
  %p = getelementptr i32, ptr addrspace(1) %data, i32 %i
  %v = load i32, ptr addrspace(1) %p
  %t = add i32 %s, %v
  %j = add i32 %i, 1
  fence seq_cst
  %m = load volatile i32, ptr addrspace(1) %n
  %more = icmp slt i32 %j, %m
  br i1 %more, label %sum, label %done
done:
  store i32 %t, ptr addrspace(1) %out
  ret void
}

; A loop that stops waiting after 1000 attempts.
define ptx_kernel void @attempts(ptr addrspace(1) %flag, ptr addrspace(1) %out) {
entry:
  br label %look
look:
  %i = phi i32 [ 0, %entry ], [ %j, %look ]
  %j = add i32 %i, 1
  %v = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  %is = icmp eq i32 %v, 0
  %more = icmp slt i32 %j, 1000
  %again = select i1 %is, i1 %more, i1 false
  br i1 %again, label %look, label %done
done:
  store i32 %v, ptr addrspace(1) %out
  ret void
}

; A state in two words, whose loads the compiler combines; the loop repeats while it waits for a sum.
define ptx_kernel void @two_words(ptr addrspace(1) %states, i64 %tile, ptr addrspace(1) %out) {
entry:
  br label %look
look:
  %t = phi i64 [ %tile, %entry ], [ %before, %look ]
  %before = add i64 %t, -1
  %place = getelementptr i64, ptr addrspace(1) %states, i64 %before
  %pair = call { i32, i32 } asm sideeffect "ld.relaxed.gpu.global.v2.u32 {$0, $1}, [$2];", "=r,=r,l,~{memory}"(ptr addrspace(1) %place)
  %low = extractvalue { i32, i32 } %pair, 0
  %high = extractvalue { i32, i32 } %pair, 1
  %one = insertelement <2 x i32> poison, i32 %low, i64 0
  %both = insertelement <2 x i32> %one, i32 %high, i64 1
  %word = bitcast <2 x i32> %both to i64
  %is = icmp ult i64 %word, 2
  br i1 %is, label %look, label %done
done:
  store i64 %word, ptr addrspace(1) %out
  ret void
}

; Decoupled look-back: visits tiles until one is complete, and waits for each; sums of incomplete tiles are in another
; array.
define ptx_kernel void @look_back(ptr addrspace(1) %states, ptr addrspace(1) %parts, ptr addrspace(1) %sums, i64 %tile, ptr addrspace(1) %out) {
entry:
  br label %window
window:
  %t = phi i64 [ %tile, %entry ], [ %before, %use ]
  %sum = phi i32 [ 0, %entry ], [ %total, %use ]
  %before = add i64 %t, -1
  %place = getelementptr i32, ptr addrspace(1) %states, i64 %before
  br label %look
look:
  %state = call i32 asm sideeffect "ld.relaxed.gpu.global.u32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %place)
  %is = icmp eq i32 %state, 0
  br i1 %is, label %look, label %found
found:
  %complete = icmp eq i32 %state, 2
  br i1 %complete, label %whole, label %part
part:
  %p = getelementptr i32, ptr addrspace(1) %parts, i64 %before
  %a = load i32, ptr addrspace(1) %p
  br label %use
whole:
  %s = getelementptr i32, ptr addrspace(1) %sums, i64 %before
  %b = load i32, ptr addrspace(1) %s
  br label %use
use:
  %c = phi i32 [ %a, %part ], [ %b, %whole ]
  %total = add i32 %sum, %c
  br i1 %complete, label %done, label %window
done:
  store i32 %total, ptr addrspace(1) %out
  ret void
}

; A lock: the number of attempts per thread varies, but each thread does its work once.
define ptx_kernel void @lock(ptr addrspace(1) %lock, ptr addrspace(1) %data) {
entry:
  br label %try
try:
  %old = atomicrmw xchg ptr addrspace(1) %lock, i32 1 monotonic
  %taken = icmp ne i32 %old, 0
  br i1 %taken, label %try, label %mine
mine:
  %v = load i32, ptr addrspace(1) %data
  %w = add i32 %v, 1
  store i32 %w, ptr addrspace(1) %data
  %unlock = atomicrmw xchg ptr addrspace(1) %lock, i32 0 monotonic
  ret void
}

; A lock with the work inside the loop: only the number of attempts varies.
define ptx_kernel void @lock_with_flag(ptr addrspace(1) %lock, ptr addrspace(1) %data) {
entry:
  br label %try
try:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 monotonic monotonic
  %got = extractvalue { i32, i1 } %pair, 1
  br i1 %got, label %mine, label %next
mine:
  %v = load i32, ptr addrspace(1) %data
  store i32 %v, ptr addrspace(1) %lock
  br label %next
next:
  %done = phi i1 [ true, %mine ], [ false, %try ]
  br i1 %done, label %end, label %try
end:
  ret void
}

; A work queue: each item is processed once, by whichever thread takes it.
define ptx_kernel void @queue(ptr addrspace(1) %next, ptr addrspace(1) %data, i32 %n) {
entry:
  br label %take
take:
  %i = atomicrmw add ptr addrspace(1) %next, i32 1 monotonic
  %some = icmp slt i32 %i, %n
  br i1 %some, label %work, label %end
work:
  %p = getelementptr i32, ptr addrspace(1) %data, i32 %i
  %v = load i32, ptr addrspace(1) %p
  br label %take
end:
  ret void
}

; A kernel that runs steps until the host sets a flag: the steps are work.
define ptx_kernel void @persistent(ptr addrspace(1) %stop, ptr addrspace(1) %data) {
entry:
  br label %step
step:
  %v = load i32, ptr addrspace(1) %data
  %w = add i32 %v, 1
  store i32 %w, ptr addrspace(1) %data
  %s = load volatile i32, ptr addrspace(1) %stop
  %go = icmp eq i32 %s, 0
  br i1 %go, label %step, label %end
end:
  ret void
}

; The CTA that draws the last ticket does extra work: exactly one CTA in each run.
define ptx_kernel void @last(ptr addrspace(1) %ticket, ptr addrspace(1) %data) {
entry:
  %t = atomicrmw uinc_wrap ptr addrspace(1) %ticket, i32 7 monotonic
  %is = icmp eq i32 %t, 7
  br i1 %is, label %more, label %end
more:
  %v = load volatile i32, ptr addrspace(1) %data
  br label %end
end:
  ret void
}

; Polling and waiting in separate functions.
define i32 @state_of(ptr addrspace(1) %p) noinline {
  %v = load volatile i32, ptr addrspace(1) %p
  ret i32 %v
}
define i32 @wait_for(ptr addrspace(1) %p) noinline {
entry:
  br label %look
look:
  %v = call i32 @state_of(ptr addrspace(1) %p)
  %is = icmp eq i32 %v, 0
  br i1 %is, label %look, label %done
done:
  ret i32 %v
}
define ptx_kernel void @calls(ptr addrspace(1) %p, ptr addrspace(1) %out) {
entry:
  %v = call i32 @wait_for(ptr addrspace(1) %p)
  %is = icmp eq i32 %v, 1
  br i1 %is, label %more, label %end
more:
  %w = load i32, ptr addrspace(1) %out
  %x = add i32 %w, 1
  store i32 %x, ptr addrspace(1) %out
  br label %end
end:
  ret void
}
; expect: spin load 4 proven waits
; expect: spin load 4 proven
; expect: spin store 4 proven
; expect: plain load 4 proven waits
; expect: plain load 4 proven waits
; expect: list load 8 proven
; expect: list load 4 proven
; expect: list store 4 proven
; expect: count load 4 proven
; expect: count load 4 proven
; expect: count store 4 proven
; expect: attempts load 4 proven waits
; expect: attempts store 4 proven
; expect: two_words load 8 proven waits
; expect: two_words store 8 proven
; expect: look_back load 4 proven waits
; expect: look_back load 4 proven waits
; expect: look_back load 4 proven waits
; expect: look_back store 4 proven
; expect: lock atomic_exch 4 proven waits
; expect: lock load 4 proven
; expect: lock store 4 proven
; expect: lock atomic_exch 4 proven
; expect: lock_with_flag atomic_cas 4 proven waits
; expect: lock_with_flag load 4 proven
; expect: lock_with_flag store 4 proven
; expect: queue atomic_add 4 proven
; expect: queue load 4 proven
; expect: persistent load 4 proven
; expect: persistent store 4 proven
; expect: persistent load 4 proven
; expect: last atomic_inc 4 proven
; expect: last load 4 proven
; expect: state_of load 4 proven waits
; expect: calls load 4 proven waits
; expect: calls store 4 proven
