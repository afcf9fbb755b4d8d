// The handler of the protocol `in-situ`: classifies each access with the shadow of what it touches, and adds it up. Nothing is recorded.
// docs/capture/in-situ.md has the rules, in_situ.h those of one entry.

#include "in_situ.h"
#include "selection.h"

#if !defined(SUPERSTEP_ON_HOST) && __CUDA_ARCH__ < 900
#error "the protocol in-situ exchanges 16 bytes at once, which GPUs before sm_90 cannot; build for sm_90 or newer (--gpu-arch)"
#endif

namespace {

typedef InSituEntry Entry;
typedef unsigned long long ulong64;

// A test runs the rules below on the host (src/in_situ/on_host.cpp), where these are its own.
#ifndef SUPERSTEP_ON_HOST
__device__ inline unsigned lane_number() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

__device__ inline unsigned sm_number() {
  unsigned sm;
  asm("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

// Past the first-level cache, which other SMs' exchanges do not reach.
__device__ inline Entry load(const void *place) {
  Entry e;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(e.before), "=l"(e.now) : "l"(place) : "memory");
  return e;
}

// What the first-level cache may have instead. For what is only ever exchanged, and whose bits only grow within a launch: what the cache
// lacks costs an exchange that fails.
__device__ inline Entry load_cached(const void *place) {
  Entry e;
  asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(e.before), "=l"(e.now) : "l"(place) : "memory");
  return e;
}

// Puts `next` where `old` is, and says what was there.
__device__ inline Entry exchange(void *place, Entry old, Entry next) {
  Entry was;
  asm volatile("{\n"
               ".reg .b128 o, n, w;\n"
               "mov.b128 o, {%2, %3};\n"
               "mov.b128 n, {%4, %5};\n"
               "atom.relaxed.gpu.global.cas.b128 w, [%6], o, n;\n"
               "mov.b128 {%0, %1}, w;\n"
               "}"
               : "=l"(was.before), "=l"(was.now)
               : "l"(old.before), "l"(old.now), "l"(next.before), "l"(next.now), "l"(place)
               : "memory");
  return was;
}

__device__ inline void add(uint64_t *word, uint64_t value) {
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(word), "l"((ulong64)value) : "memory");
}
#endif

__device__ inline bool equal(Entry a, Entry b) { return a.before == b.before && a.now == b.now; }

// A field of the context, which no kernel changes.
template <class T> __device__ inline T constant(T const *field) {
  static_assert(sizeof(T) == 8, "fields are words");
  return (T)__ldg(reinterpret_cast<const ulong64 *>(field));
}

// The thread's launch, CTA and number, as `now` has them, and where its accesses add up.
struct Me {
  const InSituContext *context;
  uint64_t now, launch;
  uint64_t *sums;

  __device__ Me(const void *of, ulong64 parameter) : context(static_cast<const InSituContext *>(of)) {
    const unsigned cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    launch = parameter & ((1u << IN_SITU_LAUNCH_BITS) - 1);
    now = launch << IN_SITU_LAUNCH_SHIFT | (uint64_t)cta << IN_SITU_CTA_SHIFT | thread;
    const unsigned slot = (unsigned)(parameter >> IN_SITU_SLOT_SHIFT) & IN_SITU_SLOT_MASK;
    sums = constant(&context->sums) + (slot * IN_SITU_COPIES + sm_number() % IN_SITU_COPIES) * IN_SITU_SUMS;
  }
};

// The shadow entry of the word at `address`; null where there is none.
__device__ inline Entry *entry_of(const InSituContext *context, uint64_t address) {
  const uint64_t number = address >> IN_SITU_BLOCK_SHIFT;
  const ulonglong2 block = __ldg(reinterpret_cast<const ulonglong2 *>(constant(&context->blocks) + (number & constant(&context->block_mask))));
  if (block.x != number + 1) return nullptr;
  return reinterpret_cast<Entry *>(block.y) + (address >> 2 & ((1u << (IN_SITU_BLOCK_SHIFT - 2)) - 1));
}

// The class of bytes whose entry is `e`.
__device__ inline unsigned class_of(Me me, Entry e) {
  if (((e.now ^ me.now) & ~IN_SITU_PLAIN) == 0) return IN_SITU_LOCAL;
  const uint64_t source = in_situ_source(e, me.launch);
  if (source == 0) return IN_SITU_INPUT;
  if (source & IN_SITU_SPECIAL) return source >> 60 == 0xe ? IN_SITU_UNKNOWN : IN_SITU_UNINITIALISED;
  const bool same_cta = ((source ^ me.now) >> IN_SITU_CTA_SHIFT & IN_SITU_CTA_MASK) == 0;
  if (same_cta && !(source & IN_SITU_BEFORE_SEVERAL)) {
    const uint32_t *kernels = constant(&me.context->kernels);
    if (__ldg(kernels + (source >> IN_SITU_LAUNCH_SHIFT)) == __ldg(kernels + me.launch)) return IN_SITU_OWN;
  }
  return IN_SITU_COMMUNICATED;
}

// Whether bytes that do not count as local may be so.
__device__ inline bool is_perhaps_local(Me me, Entry e) {
  return (e.before & IN_SITU_SEVERAL_THREADS) && e.before != IN_SITU_UNWRITTEN && in_situ_has_now(e) &&
         e.now >> IN_SITU_LAUNCH_SHIFT == me.launch;
}

// Adds to the row of a source and a receiver in the table of transfers.
__device__ __attribute__((noinline)) void transfer(Me me, uint64_t source, uint64_t receiver, uint64_t bytes, uint64_t count) {
  const InSituContext *context = me.context;
  uint64_t hash = superstep_mix(source * 0x9e3779b97f4a7c15ull ^ receiver);
  const Entry free = {0, 0}, mine = {source, receiver};
  for (unsigned tries = 0; tries < 64; ++tries, ++hash) {
    InSituTransfer *row = constant(&context->transfers) + (hash & constant(&context->transfer_mask));
    Entry was = load(row);
    if (equal(was, free)) {
      was = exchange(row, free, mine);
      if (equal(was, free)) {
        add(me.sums + IN_SITU_NEW_ROWS, 1);
        was = mine;
      }
    }
    if (equal(was, mine)) {
      add(&row->bytes, bytes);
      if (count != 0) add(&row->count, count);
      return;
    }
  }
  add(me.sums + IN_SITU_LOST_BYTES, bytes);
}

// Of bytes that the CTA received, those that it had not yet in this launch. Sets `full` where nobody knows.
__device__ inline unsigned first_here(Me me, uint64_t word, unsigned bytes, bool *full) {
  const InSituContext *context = me.context;
  const uint64_t who = me.now & ~(uint64_t)0x7ff;
  // Neighbouring words lie in neighbouring places. Steps differ from word to word, so that a crowded place stays short.
  const uint64_t hash = superstep_mix(who ^ (word >> 5) * 0x9e3779b97f4a7c15ull), step = (hash >> 32 | 1) << 5;
  uint64_t row = hash << 5;
  for (unsigned tries = 0; tries < 64; ++tries, row += step) {
    InSituReader *place = constant(&context->readers) + ((row + (word & 31)) & constant(&context->reader_mask));
    Entry was = load_cached(place);
    for (;;) {
      const bool is_mine = was.now == word && (was.before & ~(uint64_t)0x7ff) == who;
      // Launches run one after the other: what is not of this one is over.
      if (!is_mine && was.before >> IN_SITU_LAUNCH_SHIFT == me.launch) break;
      const uint64_t known = is_mine ? was.before & 0xf : 0;
      if ((bytes & ~known) == 0) return 0;
      const Entry next = {who | known | bytes, word};
      const Entry found = exchange(place, was, next);
      if (equal(found, was)) return bytes & ~(unsigned)known;
      was = found;
    }
  }
  *full = true;
  return 0;
}

__device__ inline bool is_split(Entry e) { return e.before == IN_SITU_IS_SPLIT; }

// The entries of the bytes of a word that is split.
__device__ inline Entry *bytes_of(Me me, Entry e) { return reinterpret_cast<Entry *>(constant(&me.context->split)) + 4 * e.now; }

// Marks bytes of what an entry that is not split says as read; answers those that were not. Where it has been split, `e` is its mark.
__device__ inline unsigned mark_entry(Me me, Entry *place, Entry *e, unsigned marks) {
  while (!is_split(*e)) {
    const unsigned unread = marks & ~(unsigned)(in_situ_source(*e, me.launch) >> IN_SITU_BEFORE_READ_SHIFT);
    if (unread == 0) return 0;
    const Entry was = exchange(place, *e, in_situ_mark(*e, me.launch, unread));
    if (equal(was, *e)) return unread;
    *e = was; // marks and writers of this launch can have been added, or it was split: the source is the same
  }
  return 0;
}

// The same for any entry; answers how many they were.
__device__ inline unsigned mark(Me me, Entry *place, Entry e, unsigned marks) {
  unsigned count = __popc(mark_entry(me, place, &e, marks));
  if (!is_split(e)) return count;
  Entry *parts = bytes_of(me, e);
  for (unsigned byte = 0; byte < 4; ++byte) {
    Entry part = load(parts + byte);
    if (marks >> byte & 1) count += __popc(mark_entry(me, parts + byte, &part, 1));
  }
  return count;
}

// What follows from `bytes` of a word that communicate, which the entry calls `marks`: those read first, and those received. Called by
// the lanes that have some.
__device__ __attribute__((noinline)) void communicated(Me me, Entry *place, Entry e, uint64_t address, unsigned bytes,
                                                       unsigned marks, bool counts) {
  const uint64_t source = in_situ_source(e, me.launch);
  const uint64_t launch = source >> IN_SITU_LAUNCH_SHIFT;
  const uint64_t of_source = launch << IN_SITU_LAUNCH_SHIFT | (uint64_t)IN_SITU_OF_LAUNCHES << IN_SITU_CTA_SHIFT;
  const unsigned unread = mark(me, place, e, marks);
  const bool several = source & IN_SITU_BEFORE_SEVERAL;
  bool full = false;
  const unsigned first = first_here(me, address >> 2, bytes, &full);

  const unsigned mask = __activemask();
  if (__all_sync(mask, unread == 0 && first == 0 && !full)) return;
  const unsigned lane = lane_number();
  const unsigned of_launch = __match_any_sync(mask, (unsigned)launch);
  const unsigned stored = __reduce_add_sync(of_launch, unread);
  const unsigned unsure = __reduce_add_sync(of_launch, several ? __popc(first) : 0);
  const unsigned again = __reduce_add_sync(of_launch, full ? __popc(bytes) : 0);
  if (lane == (unsigned)__ffs(of_launch) - 1) {
    const uint64_t receiver = me.launch << IN_SITU_LAUNCH_SHIFT;
    if (stored | unsure)
      transfer(me, of_source, receiver | (uint64_t)IN_SITU_OF_LAUNCHES << IN_SITU_CTA_SHIFT, stored, unsure);
    if (again)
      transfer(me, of_source, receiver | (uint64_t)IN_SITU_PERHAPS_AGAIN << IN_SITU_CTA_SHIFT, again, 0);
  }
  const uint64_t block_bits = constant(&me.context->block_bits), from = source & block_bits;
  const unsigned of_block = __match_any_sync(mask, (ulong64)from);
  const unsigned received = __reduce_add_sync(of_block, several ? 0 : __popc(first));
  const unsigned reads = __reduce_add_sync(of_block, !several && first != 0 && counts ? 1 : 0);
  if (received != 0 && lane == (unsigned)__ffs(of_block) - 1) transfer(me, from, me.now & block_bits, received, reads);
}

// A write of the `bytes` bytes that an entry stands for, which is not split. Where it has been split, `e` is its mark.
__device__ inline void write_entry(Me me, Entry *place, Entry *e, unsigned bytes, bool plain) {
  while (!is_split(*e)) {
    const Entry next = in_situ_written(*e, me.now, plain);
    // Also where nothing changes: the thread's own loads must see from now on that it may have written.
    const Entry was = exchange(place, *e, next);
    if (equal(was, *e)) {
      const bool is_new = e->now >> IN_SITU_LAUNCH_SHIFT != me.launch;
      const bool several = next.before & IN_SITU_NOW_SEVERAL, had = !is_new && e->before & IN_SITU_NOW_SEVERAL;
      if (several && !had) add(me.sums + IN_SITU_SEVERAL_WRITERS, bytes);
      const bool racing = several && next.now & IN_SITU_PLAIN, raced = had && e->now & IN_SITU_PLAIN;
      if (racing && !raced) add(me.sums + IN_SITU_RACING, bytes);
      return;
    }
    *e = was;
  }
}

// The same for any entry.
__device__ __attribute__((noinline)) void write(Me me, Entry *place, Entry e, unsigned bytes, bool plain) {
  write_entry(me, place, &e, bytes, plain);
  if (!is_split(e)) return;
  Entry *parts = bytes_of(me, e);
  for (unsigned byte = 0; byte < 4; ++byte) {
    Entry part = load(parts + byte);
    write_entry(me, parts + byte, &part, 1, plain);
  }
}

// The entries of a word's bytes, made if need be; null where there is no room for them.
__device__ Entry *split(Me me, Entry *place, Entry e) {
  Entry *own = nullptr;
  uint64_t number = 0;
  while (!is_split(e)) {
    if (own == nullptr) {
      number = atomicAdd(reinterpret_cast<ulong64 *>(me.context->split), 1ull) + 1;
      if (number >= constant(&me.context->split_most)) return nullptr;
      own = bytes_of(me, {IN_SITU_IS_SPLIT, number});
    }
    for (unsigned byte = 0; byte < 4; ++byte) {
      // The marks of the byte go where those of a single byte are.
      const uint64_t past = e.before >> (IN_SITU_BEFORE_READ_SHIFT + byte) & 1, present = e.before >> (IN_SITU_NOW_READ_SHIFT + byte) & 1;
      Entry one = e;
      if (!(e.before & IN_SITU_SPECIAL)) one.before = (e.before & ~(uint64_t)0x3fc) | past << IN_SITU_BEFORE_READ_SHIFT;
      if (in_situ_has_now(e)) one.before = (one.before & ~(uint64_t)0x3c) | present << IN_SITU_NOW_READ_SHIFT;
      own[byte] = one;
    }
    __threadfence();
    const Entry next = {IN_SITU_IS_SPLIT, number};
    const Entry was = exchange(place, e, next);
    if (equal(was, e)) return own;
    e = was;
  }
  return bytes_of(me, e);
}

// An access to any bytes, lane by lane.
__device__ __attribute__((noinline)) void access_bytes(Me me, unsigned operation, uint64_t address, unsigned width_bytes) {
  const uint64_t end = address + width_bytes;
  bool counts = true;
  for (uint64_t word = address & ~(uint64_t)3; word < end; word += 4) {
    unsigned bytes = 0xf;
    if (word < address) bytes &= 0xf << (address - word);
    if (word + 4 > end) bytes &= 0xf >> (word + 4 - end);
    Entry *place = entry_of(me.context, word);
    if (place == nullptr) {
      const unsigned amount = __popc(bytes);
      if (operation != IN_SITU_STORE) {
        add(me.sums + IN_SITU_BYTES + IN_SITU_UNKNOWN, amount);
        add(me.sums + IN_SITU_UNSHADOWED_LOADED, amount);
      }
      if (operation != IN_SITU_LOAD) add(me.sums + IN_SITU_UNSHADOWED_STORED, amount);
      continue;
    }
    Entry e = load(place);
    Entry *parts = nullptr;
    if (is_split(e) || (operation != IN_SITU_LOAD && bytes != 0xf)) {
      parts = split(me, place, e);
      if (parts == nullptr) {
        add(me.sums + IN_SITU_NOT_SPLIT, 1);
        e = load(place);
      }
    }
    const unsigned steps = parts == nullptr ? 1 : 4;
    for (unsigned step = 0; step < steps; ++step) {
      unsigned own_bytes = bytes;
      Entry *at = place;
      if (parts != nullptr) {
        own_bytes = bytes & 1u << step;
        if (own_bytes == 0) continue;
        at = parts + step;
        e = load(at);
      }
      if (operation != IN_SITU_STORE) {
        const unsigned found = class_of(me, e), amount = __popc(own_bytes);
        add(me.sums + IN_SITU_BYTES + found, amount);
        if (found != IN_SITU_LOCAL && is_perhaps_local(me, e)) add(me.sums + IN_SITU_PERHAPS_LOCAL, amount);
        if (found == IN_SITU_COMMUNICATED) {
          communicated(me, at, e, word, own_bytes, parts == nullptr ? bytes : 1, counts);
          counts = false;
        }
      }
      if (operation != IN_SITU_LOAD) write(me, at, e, __popc(own_bytes), operation == IN_SITU_STORE);
    }
  }
}

// Counts the lanes in `mask`, of one class.
__device__ inline void count(Me me, unsigned mask, unsigned operation, unsigned width_log2, unsigned of_class) {
  add(me.sums + IN_SITU_THREADS + (operation * 5 + width_log2) * 8 + of_class, __popc(mask));
}

// Counts the lanes that a group lacks: groups follow from them and from the threads.
__device__ inline void count_missing(Me me, unsigned mask, unsigned operation) {
  if (mask != 0xffffffffu) add(me.sums + IN_SITU_MISSING + operation, 32 - __popc(mask));
}

// The lanes in `mask`, which come here together, from sites with one operation and one width.
__device__ inline void access(Me me, unsigned mask, unsigned operation, uint64_t address, unsigned width_bytes) {
  const unsigned lane = lane_number();
  const unsigned leader = __ffs(mask) - 1;
  const bool leads = lane == leader;
  const unsigned width_log2 = width_bytes < 2 ? 0 : width_bytes < 4 ? 1 : width_bytes < 8 ? 2 : width_bytes < 16 ? 3 : 4;
  const bool is_usual = width_bytes == 1u << width_log2;
  if (!is_usual) {
    if (leads) {
      add(me.sums + IN_SITU_ODD_THREADS + operation, __popc(mask));
      add(me.sums + IN_SITU_ODD_BYTES + operation, (uint64_t)__popc(mask) * width_bytes);
      count_missing(me, mask, operation);
    }
    access_bytes(me, operation, address, width_bytes);
    __syncwarp(mask);
    return;
  }
  Entry *place = nullptr;
  unsigned of_class = IN_SITU_NONE;
  const unsigned words = width_bytes >= 4 ? width_bytes / 4 : 1;
  const unsigned bytes = width_bytes >= 4 ? 0xf : ((1u << width_bytes) - 1) << (address & 3);
  // Whole words, or loads from one, all in one block, aligned: 16 bytes never cross it. What the first look finds holds: later, they may
  // have been split.
  Entry entries[4];
  bool simple = (width_bytes >= 4 || operation == IN_SITU_LOAD) && (address & (width_bytes - 1)) == 0;
  if (simple) {
    place = entry_of(me.context, address);
    simple = place != nullptr;
  }
  if (simple) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      if (i < words) entries[i] = load(place + i);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      if (i < words) simple = simple && !is_split(entries[i]);
  }
  if (simple && operation != IN_SITU_STORE) {
    of_class = class_of(me, entries[0]);
#pragma unroll
    for (unsigned i = 1; i < 4; ++i)
      if (i < words) simple = simple && class_of(me, entries[i]) == of_class;
    if (!simple) of_class = IN_SITU_NONE;
  }
  const unsigned first_class = __shfl_sync(mask, of_class, leader);
  if (__all_sync(mask, of_class == first_class)) {
    if (leads) count(me, mask, operation, width_log2, of_class);
  } else {
    const unsigned same = __match_any_sync(mask, of_class);
    if (lane == (unsigned)__ffs(same) - 1) count(me, same, operation, width_log2, of_class);
  }
  if (leads) count_missing(me, mask, operation);
  if (!simple) {
    access_bytes(me, operation, address, width_bytes);
  } else {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      if (i >= words) break;
      const Entry e = entries[i];
      if (operation != IN_SITU_STORE) {
        if (of_class != IN_SITU_LOCAL && is_perhaps_local(me, e)) add(me.sums + IN_SITU_PERHAPS_LOCAL, __popc(bytes));
        if (of_class == IN_SITU_COMMUNICATED)
          communicated(me, place + i, e, (address & ~(uint64_t)3) + 4 * i, bytes, bytes, i == 0);
      }
      // Nothing new where the thread itself was the first to write, and has stored before if it stores now.
      const bool is_known = ((e.now ^ me.now) & ~IN_SITU_PLAIN) == 0 && (operation != IN_SITU_STORE || e.now & IN_SITU_PLAIN);
      if (operation != IN_SITU_LOAD && !is_known)
        write(me, place + i, e, 4, operation == IN_SITU_STORE);
    }
  }
  __syncwarp(mask);
}

__device__ inline unsigned operation_of(unsigned site) {
  const unsigned code = site >> 28;
  return code == 1 ? IN_SITU_LOAD : code == 2 ? IN_SITU_STORE : IN_SITU_ATOMIC;
}

// Each kind of access is a function of its own: inlined at every site, they would be most of a kernel, and ptxas would take minutes.
template <unsigned operation, unsigned width_bytes>
__device__ __attribute__((noinline)) void access_of(const void *context, ulong64 launch, uint64_t address) {
  if (launch >> 62 && superstep_leaves_out(launch, static_cast<const InSituContext *>(context)->selection)) return;
  access(Me(context, launch), __activemask(), operation, address, width_bytes);
}

// Accesses of other widths, and such whose sites or widths differ from lane to lane, group by group.
__device__ __attribute__((noinline)) void access_any(const void *context, ulong64 launch, unsigned site, uint64_t address,
                                                     unsigned width_bytes) {
  if (launch >> 62 && superstep_leaves_out(launch, static_cast<const InSituContext *>(context)->selection)) return;
  const unsigned mask = __activemask();
  const unsigned same = __match_any_sync(mask, site) & __match_any_sync(mask, width_bytes);
  access(Me(context, launch), same, operation_of(site), address, width_bytes);
}

template <unsigned operation>
__device__ inline void choose(const void *context, ulong64 launch, unsigned site, uint64_t address, unsigned width_bytes) {
  switch (width_bytes) {
  case 1: return access_of<operation, 1>(context, launch, address);
  case 2: return access_of<operation, 2>(context, launch, address);
  case 4: return access_of<operation, 4>(context, launch, address);
  case 8: return access_of<operation, 8>(context, launch, address);
  case 16: return access_of<operation, 16>(context, launch, address);
  default: return access_any(context, launch, site, address, width_bytes);
  }
}

} // namespace

extern "C" __device__ __attribute__((always_inline)) void
__superstep_probe_access(void *context, unsigned long long launch, unsigned site, void *address, unsigned width_bytes) {
  const uint64_t where = reinterpret_cast<uint64_t>(address);
  if (!__builtin_constant_p(site) || !__builtin_constant_p(width_bytes)) return access_any(context, launch, site, where, width_bytes);
  switch (operation_of(site)) {
  case IN_SITU_LOAD: return choose<IN_SITU_LOAD>(context, launch, site, where, width_bytes);
  case IN_SITU_STORE: return choose<IN_SITU_STORE>(context, launch, site, where, width_bytes);
  default: return choose<IN_SITU_ATOMIC>(context, launch, site, where, width_bytes);
  }
}
