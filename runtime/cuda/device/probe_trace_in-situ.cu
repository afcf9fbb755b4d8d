// The handlers of the protocol `in-situ`: they classify each access with the shadow of what it touches, and add it up. Nothing is
// recorded. docs/capture/in-situ.md has the rules, in_situ.h those of one entry.
//
// What a load usually finds changes nothing: it is classified where it stands, in `usual_load`. Everything else is called.
//
// Shadow memory is read through the first-level cache. A thread always sees its own exchanges there. Of other SMs' it may see an earlier
// state of this launch, which says the same of the state before the launch.

#include "in_situ.cuh"

#if __CUDA_ARCH__ < 900
#error "the protocol in-situ exchanges 16 bytes at once, which GPUs before sm_90 cannot; build for sm_90 or newer (--gpu-arch)"
#endif

namespace {

// The write of an atomic, whose load has been classified.
constexpr unsigned WRITE_OF_ATOMIC = 3;

// The thread's launch, CTA and number, as `now` has them, and where its accesses add up.
struct Me {
  const InSituContext *context;
  uint64_t now;
  unsigned cta, launch, kernel;
  uint64_t *sums;

  INLINE Me(const void *of, ulong64 parameter) : context(static_cast<const InSituContext *>(of)) {
    cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    launch = launch_of(parameter);
    kernel = (unsigned)(parameter >> IN_SITU_KERNEL_SHIFT) & IN_SITU_KERNEL_MASK;
    now = (uint64_t)launch << IN_SITU_LAUNCH_SHIFT | (uint64_t)cta << IN_SITU_CTA_SHIFT | thread;
    sums = sums_of(context, parameter, cta);
  }

  INLINE bool wrote_in_this_launch(Entry e) const { return was_written_in(launch, e); }
  INLINE bool is_first_writer(Entry e) const { return ((e.now ^ now) & ~IN_SITU_PLAIN) == 0; }
};

// The class of bytes whose entry is `e`, which is not split.
INLINE unsigned class_of(const Me &me, Entry e) {
  const bool in_this = me.wrote_in_this_launch(e);
  if (in_this && me.is_first_writer(e)) return IN_SITU_LOCAL;
  // Entries that no launch has written since the host did say the same twice.
  const uint64_t source = in_this ? e.before : e.now;
  const int high = (int)(source >> 32);
  if (high < 1 << (IN_SITU_LAUNCH_SHIFT - 32))
    return high >= 0 ? IN_SITU_INPUT : (unsigned)high >> 28 == 0xe ? IN_SITU_UNKNOWN : IN_SITU_UNINITIALISED;
  if (((source ^ me.now) >> IN_SITU_CTA_SHIFT & IN_SITU_CTA_MASK) == 0 &&
      !(e.before & (in_this ? IN_SITU_BEFORE_SEVERAL : IN_SITU_NOW_SEVERAL))) {
    const uint32_t *kernels = constant(&me.context->kernels);
    if (__ldg(kernels + (source >> IN_SITU_LAUNCH_SHIFT)) == me.kernel) return IN_SITU_OWN;
  }
  return IN_SITU_COMMUNICATED;
}

// Whether bytes that do not count as local may be so.
INLINE bool is_perhaps_local(const Me &me, Entry e) {
  return (e.before & IN_SITU_SEVERAL_THREADS) && me.wrote_in_this_launch(e);
}

// Where a CTA notes what it received of the 32 bytes at an address.
struct Reader {
  uint64_t low, high;
  unsigned place;

  INLINE Reader(const Me &me, uint64_t address) {
    const uint64_t sector = address >> 5;
    low = (uint64_t)me.cta << IN_SITU_READER_CTA_SHIFT;
    high = sector | (uint64_t)(me.cta >> 12 | 1u << 19) << IN_SITU_READER_SECTOR_BITS;
    unsigned hash = (unsigned)(sector >> 2) * 0x9e3779b1u + me.cta * 0x85ebca77u;
    hash = (hash ^ hash >> 15) * 0x2c1b3c6du;
    // Neighbours lie beside each other.
    place = (hash ^ hash >> 14) << 2 | (unsigned)(sector & 3);
  }

  // The first tries are in a part of the rows that stays in the second-level cache.
  INLINE unsigned number(const Me &me, unsigned tries) const {
    const unsigned most = (unsigned)constants(&me.context->readers).y;
    if (tries < 4) return (place + IN_SITU_GROUP * tries) & (IN_SITU_NEAR_READERS - 1) & most;
    return (place + IN_SITU_GROUP * tries) & most;
  }
  INLINE void *row(const Me &me, unsigned number) const {
    return reinterpret_cast<InSituReader *>(constants(&me.context->readers).x) + number;
  }
  // `before` of a row has what is in `low`, `now` what is in `high`.
  INLINE bool is(Entry row) const { return (((row.before ^ low) >> IN_SITU_READER_CTA_SHIFT) | (row.now ^ high)) == 0; }
};

// What a row says of `bytes` (a bit for each of 32) that were loaded with a width; no width where that is not a usual one.
INLINE uint64_t noted(uint64_t address, unsigned bytes, unsigned width_bytes) {
  if (width_bytes > 16 || (width_bytes & (width_bytes - 1)) != 0) return bytes;
  const unsigned eighth = (unsigned)address >> 3 & 3;
  const unsigned widths = (width_bytes == 16 ? 0x21u : 1u) * width_bytes << 5 * eighth;
  return (uint64_t)widths << IN_SITU_READER_WIDTHS_SHIFT | bytes;
}

// Notes that the CTA received bytes of the 32 at an address, which communicate; false where there is no room for that.
CALLED bool note(const void *context, ulong64 parameter, uint64_t address, uint64_t what) {
  const unsigned mask = __activemask();
  const Me me(context, parameter);
  const Reader reader(me, address);
  const unsigned around = __match_any_sync(mask, (ulong64)reader.high);
  const unsigned leader = __ffs(around) - 1;
  const uint64_t all = (uint64_t)__reduce_or_sync(around, (unsigned)(what >> 32)) << 32 | __reduce_or_sync(around, (unsigned)what);
  bool done = false;
  if (lane_number() == leader) {
    const Entry free = {0, 0}, next = {reader.low | all, reader.high};
    for (unsigned tries = 0; tries < 16 && !done; ++tries) {
      const unsigned number = reader.number(me, tries);
      void *row = reader.row(me, number);
      Entry was = load(row);
      if (equal(was, free)) {
        was = exchange(row, free, next);
        if (equal(was, free)) {
          const unsigned group = number / IN_SITU_GROUP;
          atomicOr(reinterpret_cast<ulong64 *>(constant(&me.context->used)) + group / 64, 1ull << group % 64);
          done = true;
          break;
        }
      }
      done = reader.is(was);
      if (done && (all & ~was.before) != 0) atomicOr(static_cast<ulong64 *>(row), (ulong64)all);
    }
  }
  return __shfl_sync(around, done, leader);
}

// Where there was none: the bytes are marked as read at once, and those received perhaps again.
CALLED void not_noted(const void *context, ulong64 parameter, Entry *place, unsigned marks, unsigned bytes) {
  const Me me(context, parameter);
  Entry e = load_latest(place);
  unsigned unread = 0;
  const uint64_t source = in_situ_source(e, me.launch);
  for (;;) {
    if (is_split(e)) {
      add(me.sums + IN_SITU_LOST_BYTES, bytes);
      return;
    }
    unread = marks & ~(unsigned)(in_situ_source(e, me.launch) >> IN_SITU_BEFORE_READ_SHIFT);
    if (unread == 0) break;
    const Entry was = exchange(place, e, in_situ_mark(e, me.launch, unread));
    if (equal(was, e)) break;
    e = was; // only marks and writers of this launch can have been added: the source is the same
  }
  const unsigned launch = (unsigned)(source >> IN_SITU_LAUNCH_SHIFT);
  if (unread != 0) add_first_read(me.context, me.sums, me.launch, launch, __popc(unread));
  const uint64_t from = (uint64_t)launch << IN_SITU_LAUNCH_SHIFT | (uint64_t)IN_SITU_OF_LAUNCHES << IN_SITU_CTA_SHIFT;
  const uint64_t to = (uint64_t)me.launch << IN_SITU_LAUNCH_SHIFT | (uint64_t)IN_SITU_PERHAPS_AGAIN << IN_SITU_CTA_SHIFT;
  transfer(me.context, me.sums, from, to, bytes, 0);
}

// A write of the `bytes` bytes that an entry stands for, which is not split; false if it is.
INLINE bool write_entry(const Me &me, Entry *place, Entry e, unsigned bytes, bool plain) {
  for (bool looked = false; !is_split(e); looked = true) {
    const Entry next = in_situ_written(e, me.now, plain);
    // The first look was through the cache of the thread's own loads, which say from now on that it may have written.
    if (!looked && equal(next, e)) return true;
    const Entry was = exchange(place, e, next);
    if (equal(was, e)) {
      const bool is_new = !me.wrote_in_this_launch(e);
      const bool several = !is_new && next.before & IN_SITU_NOW_SEVERAL, had = !is_new && e.before & IN_SITU_NOW_SEVERAL;
      if (several && !had) add(me.sums + IN_SITU_SEVERAL_WRITERS, bytes);
      const bool racing = several && next.now & IN_SITU_PLAIN, raced = had && e.now & IN_SITU_PLAIN;
      if (racing && !raced) add(me.sums + IN_SITU_RACING, bytes);
      return true;
    }
    e = was;
  }
  return false;
}

// A write of a whole word, or of the byte that an entry stands for.
CALLED void write(const void *context, ulong64 parameter, Entry *place, uint64_t before, uint64_t now, unsigned bytes, bool plain) {
  const Me me(context, parameter);
  const Entry e = {before, now};
  if (write_entry(me, place, e, bytes, plain)) return;
  Entry *parts = bytes_of(me.context, load_latest(place));
  for (unsigned byte = 0; byte < 4; ++byte) write_entry(me, parts + byte, load(parts + byte), 1, plain);
}

// The entries of a word's bytes, made if need be; null where there is no room for them.
INLINE Entry *split(const Me &me, Entry *place, Entry e) {
  Entry *own = nullptr;
  uint64_t number = 0;
  while (!is_split(e)) {
    if (own == nullptr) {
      number = atomicAdd(reinterpret_cast<ulong64 *>(me.context->split), 1ull) + 1;
      if (number >= constant(&me.context->split_most)) return nullptr;
      own = reinterpret_cast<Entry *>(constant(&me.context->split)) + 4 * number;
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
    const Entry next = {IN_SITU_IS_SPLIT, number | IN_SITU_SPECIAL};
    const Entry was = exchange(place, e, next);
    if (equal(was, e)) return own;
    e = was;
  }
  return bytes_of(me.context, e);
}

// An access to any bytes, lane by lane.
CALLED void access_bytes(const void *context, ulong64 parameter, unsigned operation, uint64_t address, unsigned width_bytes) {
  const Me me(context, parameter);
  const bool reads = operation == IN_SITU_LOAD || operation == IN_SITU_ATOMIC;
  const uint64_t end = address + width_bytes;
  for (uint64_t word = address & ~(uint64_t)3; word < end; word += 4) {
    unsigned bytes = 0xf;
    if (word < address) bytes &= 0xf << (address - word);
    if (word + 4 > end) bytes &= 0xf >> (word + 4 - end);
    Entry *place = entry_of(me.context, word);
    if (place == nullptr) {
      if (reads) add(me.sums + IN_SITU_BYTES + IN_SITU_UNKNOWN, __popc(bytes));
      continue;
    }
    Entry e = load(place);
    Entry *parts = nullptr;
    if (is_split(e) || (operation != IN_SITU_LOAD && bytes != 0xf)) {
      parts = split(me, place, e);
      if (parts == nullptr) {
        add(me.sums + IN_SITU_NOT_SPLIT, 1);
        e = load_latest(place);
        if (is_split(e)) parts = bytes_of(me.context, e);
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
      if (reads) {
        const unsigned found = class_of(me, e), amount = __popc(own_bytes);
        add(me.sums + IN_SITU_BYTES + found, amount);
        if (found != IN_SITU_LOCAL && is_perhaps_local(me, e)) add(me.sums + IN_SITU_PERHAPS_LOCAL, amount);
        if (found == IN_SITU_COMMUNICATED) {
          const uint64_t what = noted(word, own_bytes << (word & 31), width_bytes);
          if (!note(context, parameter, word, what)) not_noted(context, parameter, at, parts == nullptr ? bytes : 1, __popc(own_bytes));
        }
      }
      if (operation != IN_SITU_LOAD) write(context, parameter, at, e.before, e.now, __popc(own_bytes), operation == IN_SITU_STORE);
    }
  }
}

// Counts the lanes in `mask`, of one class.
INLINE void count(uint64_t *sums, unsigned mask, unsigned operation, unsigned width_log2, unsigned of_class) {
  add(sums + IN_SITU_THREADS + (operation * 5 + width_log2) * 8 + of_class, __popc(mask));
}

// Counts the lanes that a group lacks: groups follow from them and from the threads.
INLINE void count_missing(uint64_t *sums, unsigned mask, unsigned operation) {
  if (mask != 0xffffffffu) add(sums + IN_SITU_MISSING + operation, 32 - __popc(mask));
}

template <unsigned width_bytes> INLINE constexpr unsigned width_log2() {
  return width_bytes < 2 ? 0 : width_bytes < 4 ? 1 : width_bytes < 8 ? 2 : width_bytes < 16 ? 3 : 4;
}

template <unsigned width_bytes> INLINE unsigned bits_of(uint64_t address) {
  return ((1u << width_bytes) - 1) << ((unsigned)address & 31);
}

// The shadow of an access: an entry for each word, or that of the byte. `simple`: there is no other.
template <unsigned width_bytes> struct Shadow {
  static constexpr unsigned words = width_bytes < 4 ? 1 : width_bytes / 4;
  Entry *place, entries[words];
  unsigned marks;
  bool simple, of_byte = false;

  INLINE Shadow(const Me &me, uint64_t address) {
    place = entry_of(me.context, address);
    simple = place != nullptr && (address & (width_bytes - 1)) == 0;
    marks = width_bytes < 4 ? ((1u << width_bytes) - 1) << ((unsigned)address & 3) : 0xf;
    if (!simple) return;
#pragma unroll
    for (unsigned i = 0; i < words; ++i) entries[i] = load(place + i);
#pragma unroll
    for (unsigned i = 0; i < words; ++i) simple = simple && !is_split(entries[i]);
    if (width_bytes == 1 && !simple) {
      place = bytes_of(me.context, entries[0]) + (address & 3);
      entries[0] = load(place);
      marks = 1;
      simple = of_byte = true;
    }
  }
};

// What a load or an atomic reads, counted.
template <unsigned operation, unsigned width_bytes> INLINE void classify(const void *context, ulong64 parameter, unsigned mask, uint64_t address) {
  const Me me(context, parameter);
  Shadow<width_bytes> shadow(me, address);
  unsigned of_class = IN_SITU_NONE;
  if (shadow.simple) {
    of_class = class_of(me, shadow.entries[0]);
#pragma unroll
    for (unsigned i = 1; i < shadow.words; ++i)
      if (class_of(me, shadow.entries[i]) != of_class) of_class = IN_SITU_NONE;
  }
  const unsigned same = __match_any_sync(mask, of_class);
  if (lane_number() == (unsigned)__ffs(same) - 1) count(me.sums, same, operation, width_log2<width_bytes>(), of_class);
  if (of_class == IN_SITU_NONE) {
    access_bytes(context, parameter, IN_SITU_LOAD, address, width_bytes);
  } else if (of_class != IN_SITU_LOCAL) {
    unsigned perhaps = 0;
#pragma unroll
    for (unsigned i = 0; i < shadow.words; ++i)
      if (is_perhaps_local(me, shadow.entries[i])) perhaps += width_bytes < 4 ? width_bytes : 4;
    if (perhaps) add(me.sums + IN_SITU_PERHAPS_LOCAL, perhaps);
    if (of_class == IN_SITU_COMMUNICATED && !note(context, parameter, address, noted(address, bits_of<width_bytes>(address), width_bytes)))
      for (unsigned i = 0; i < shadow.words; ++i)
        not_noted(context, parameter, shadow.place + i, shadow.marks, width_bytes < 4 ? width_bytes : 4);
  }
  __syncwarp(mask);
}

template <unsigned width_bytes> INLINE void write_all(const void *context, ulong64 parameter, unsigned mask, uint64_t address, bool plain) {
  const Me me(context, parameter);
  Shadow<width_bytes> shadow(me, address);
  if (!shadow.simple || (width_bytes < 4 && !shadow.of_byte)) {
    access_bytes(context, parameter, plain ? IN_SITU_STORE : WRITE_OF_ATOMIC, address, width_bytes);
  } else {
    Entry was[shadow.words];
    bool is_new[shadow.words];
#pragma unroll
    for (unsigned i = 0; i < shadow.words; ++i) {
      is_new[i] = !me.wrote_in_this_launch(shadow.entries[i]);
      if (is_new[i]) was[i] = exchange(shadow.place + i, shadow.entries[i], in_situ_written(shadow.entries[i], me.now, plain));
    }
#pragma unroll
    for (unsigned i = 0; i < shadow.words; ++i) {
      if (is_new[i] && equal(was[i], shadow.entries[i])) continue;
      const Entry e = is_new[i] ? was[i] : shadow.entries[i];
      write(context, parameter, shadow.place + i, e.before, e.now, width_bytes < 4 ? 1 : 4, plain);
    }
  }
  __syncwarp(mask);
}

template <unsigned width_bytes>
CALLED void load_called(const void *context, ulong64 launch, unsigned mask, uint64_t address) {
  classify<IN_SITU_LOAD, width_bytes>(context, launch, mask, address);
}

template <unsigned width_bytes>
CALLED void store_called(const void *context, ulong64 launch, uint64_t address) {
  const unsigned mask = __activemask();
  const Me me(context, launch);
  if (lane_number() == (unsigned)__ffs(mask) - 1) {
    count(me.sums, mask, IN_SITU_STORE, width_log2<width_bytes>(), IN_SITU_NONE);
    count_missing(me.sums, mask, IN_SITU_STORE);
  }
  write_all<width_bytes>(context, launch, mask, address, true);
}

template <unsigned width_bytes>
CALLED void atomic_called(const void *context, ulong64 launch, uint64_t address) {
  const unsigned mask = __activemask();
  const Me me(context, launch);
  if (lane_number() == (unsigned)__ffs(mask) - 1) count_missing(me.sums, mask, IN_SITU_ATOMIC);
  classify<IN_SITU_ATOMIC, width_bytes>(context, launch, mask, address);
  write_all<width_bytes>(context, launch, mask, address, false);
}

// Accesses of other widths, and such whose widths differ from lane to lane, group by group.
CALLED void any_called(const void *context, ulong64 launch, unsigned operation, uint64_t address,
                                                     unsigned width_bytes) {
  const unsigned all = __activemask(), mask = __match_any_sync(all, width_bytes);
  const Me me(context, launch);
  if (lane_number() == (unsigned)__ffs(mask) - 1) {
    add(me.sums + IN_SITU_ODD_THREADS + operation, __popc(mask));
    add(me.sums + IN_SITU_ODD_BYTES + operation, (uint64_t)__popc(mask) * width_bytes);
    count_missing(me.sums, mask, operation);
  }
  access_bytes(context, launch, operation, address, width_bytes);
  __syncwarp(all);
}

// A load. Nothing is to be done but to count the lanes of each class, and what communicates has its row.
//
// Lanes that ask apart which of them are active may meet before they are through, each with its own mask. With `__any_sync` and
// `__match_all_sync` over such masks (ptxas 12.9 and 13.0), loads of bfs were counted twice or not at all, and it faulted. Why was not
// found; with `__match_any_sync` it does not happen.
template <unsigned width_bytes> INLINE void usual_load(const void *of, ulong64 parameter, uint64_t address) {
  const unsigned mask = __activemask();
  const InSituContext *context = static_cast<const InSituContext *>(of);
  const Me me(context, parameter);
  constexpr unsigned words = width_bytes < 4 ? 1 : width_bytes / 4;
  // Without shadow memory: unknown.
  const Entry *place = entry_or(context, address, const_cast<Entry *>(context->unknown));
  Entry e = load(place);
  bool usual = (address & (width_bytes - 1)) == 0;
#pragma unroll
  for (unsigned i = 1; i < words; ++i) usual = usual && equal(load(place + i), e);
  const Entry *at = place;
  unsigned marks = width_bytes < 4 ? ((1u << width_bytes) - 1) << ((unsigned)address & 3) : 0xf;
  if (width_bytes == 1 && is_split(e)) {
    at = bytes_of(context, e) + (address & 3);
    marks = 1;
    e = load(at);
  }

  const bool in_this = me.wrote_in_this_launch(e);
  const int high = (int)((in_this ? e.before : e.now) >> 32);
  unsigned of_class = IN_SITU_INPUT;
  if (in_this) {
    // Either the thread's own, or, with several writers, perhaps.
    if (me.is_first_writer(e)) of_class = IN_SITU_LOCAL;
    else usual = usual && !(e.before & IN_SITU_SEVERAL_THREADS);
  }
  if (of_class != IN_SITU_LOCAL && high != 0) {
    of_class = class_of(me, e);
    // Of bytes, or special.
    usual = usual && (high > 0 || !is_split(e));
  }
  if (usual && of_class == IN_SITU_COMMUNICATED) {
    const Reader reader(me, address);
    void *row = reader.row(me, reader.number(me, 0));
    const Entry known = load(row);
    const uint64_t what = noted(address, bits_of<width_bytes>(address), width_bytes);
    if (!reader.is(known)) {
      if (!note(context, parameter, address, what))
        for (unsigned i = 0; i < words; ++i)
          not_noted(context, parameter, const_cast<Entry *>(at) + i, marks, width_bytes < 4 ? width_bytes : 4);
    } else if ((what & ~known.before) != 0) {
      asm volatile("red.relaxed.gpu.global.or.b64 [%0], %1;" ::"l"(row), "l"((ulong64)what) : "memory");
    }
  }
  const unsigned same = __match_any_sync(mask, usual ? of_class : 8);
  if (lane_number() == (unsigned)__ffs(mask) - 1) count_missing(me.sums, mask, IN_SITU_LOAD);
  if (!usual)
    load_called<width_bytes>(of, parameter, same, address);
  else if (lane_number() == (unsigned)__ffs(same) - 1)
    count(me.sums, same, IN_SITU_LOAD, width_log2<width_bytes>(), of_class);
}

} // namespace

#define HANDLER(name)                                                                                                                    \
  extern "C" __device__ void __superstep_probe_access_##name(const void *context, ulong64 launch, unsigned site, const void *address,    \
                                                             unsigned width_bytes)
#define HANDLERS(width)                                                                                                                  \
  HANDLER(load_##width) { usual_load<width>(context, launch, reinterpret_cast<uint64_t>(address)); }                                     \
  HANDLER(store_##width) { store_called<width>(context, launch, reinterpret_cast<uint64_t>(address)); }                   \
  HANDLER(atomic_##width) { atomic_called<width>(context, launch, reinterpret_cast<uint64_t>(address)); }
#define HANDLER_ANY(name, operation)                                                                                                     \
  HANDLER(name) { any_called(context, launch, operation, reinterpret_cast<uint64_t>(address), width_bytes); }

HANDLERS(1)
HANDLERS(2)
HANDLERS(4)
HANDLERS(8)
HANDLERS(16)
HANDLER_ANY(load_any, IN_SITU_LOAD)
HANDLER_ANY(store_any, IN_SITU_STORE)
HANDLER_ANY(atomic_any, IN_SITU_ATOMIC)
