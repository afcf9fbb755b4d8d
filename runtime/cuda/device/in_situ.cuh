// What the handlers of the protocol `in-situ` and the kernel behind each launch have in common.
#ifndef SUPERSTEP_IN_SITU_CUH
#define SUPERSTEP_IN_SITU_CUH

#include "in_situ.h"

#define INLINE __device__ __attribute__((always_inline)) inline
// Handed nothing by reference, which would put it into memory.
#define CALLED __device__ __attribute__((noinline))

namespace {

typedef InSituEntry Entry;
typedef unsigned long long ulong64;

INLINE unsigned lane_number() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// Past the first-level cache, which other SMs' exchanges do not reach.
INLINE Entry load_latest(const void *place) {
  Entry e;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(e.before), "=l"(e.now) : "l"(place) : "memory");
  return e;
}

INLINE Entry load(const void *place) {
  Entry e;
  asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(e.before), "=l"(e.now) : "l"(place) : "memory");
  return e;
}

// Puts `next` where `old` is, and says what was there.
INLINE Entry exchange(void *place, Entry old, Entry next) {
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

INLINE bool equal(Entry a, Entry b) { return ((a.before ^ b.before) | (a.now ^ b.now)) == 0; }

INLINE void add(uint64_t *word, uint64_t value) {
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(word), "l"((ulong64)value) : "memory");
}

// A field of the context, which no kernel changes.
template <class T> INLINE T constant(T const *field) {
  static_assert(sizeof(T) == 8, "fields are words");
  return (T)__ldg(reinterpret_cast<const ulong64 *>(field));
}

// The copy of a launch's sums that a CTA adds to.
INLINE uint64_t *sums_of(const InSituContext *context, ulong64 parameter, unsigned cta) {
  const unsigned slot = (unsigned)(parameter >> IN_SITU_SLOT_SHIFT) & IN_SITU_SLOT_MASK;
  return constant(&context->sums) + (slot * IN_SITU_COPIES + cta % IN_SITU_COPIES) * IN_SITU_SUMS;
}

INLINE unsigned launch_of(ulong64 parameter) { return (unsigned)parameter & ((1u << IN_SITU_LAUNCH_BITS) - 1); }

// A pair of fields that lie beside each other, which no kernel changes.
INLINE ulonglong2 constants(const void *fields) {
  ulonglong2 pair;
  asm("ld.global.nc.v2.u64 {%0, %1}, [%2];" : "=l"(pair.x), "=l"(pair.y) : "l"(fields));
  return pair;
}

// The shadow entry of the word at `address`, or another where there is none.
INLINE Entry *entry_or(const InSituContext *context, uint64_t address, Entry *other) {
  const unsigned number = (unsigned)(address >> IN_SITU_BLOCK_SHIFT);
  const ulonglong2 blocks = constants(&context->blocks);
  const ulonglong2 block = constants(reinterpret_cast<const ulonglong2 *>(blocks.x) + (number & (unsigned)blocks.y));
  const unsigned offset = (unsigned)address << 2 & ((1u << (IN_SITU_BLOCK_SHIFT + 2)) - IN_SITU_ENTRY_BYTES);
  return (unsigned)block.x == number + 1 ? reinterpret_cast<Entry *>(block.y + offset) : other;
}

// The same, or null.
INLINE Entry *entry_of(const InSituContext *context, uint64_t address) {
  Entry *none = nullptr;
  return entry_or(context, address, none);
}

INLINE bool is_split(Entry e) { return e.before == IN_SITU_IS_SPLIT; }

// The entries of the bytes of a word that is split.
INLINE Entry *bytes_of(const InSituContext *context, Entry e) {
  return reinterpret_cast<Entry *>(constant(&context->split)) + 4 * (e.now & ~IN_SITU_SPECIAL);
}

INLINE bool was_written_in(unsigned launch, Entry e) { return (unsigned)(e.now >> IN_SITU_LAUNCH_SHIFT) == launch; }

// Adds to the row of a source and a receiver in the table of transfers.
CALLED void transfer(const InSituContext *context, uint64_t *sums, uint64_t source, uint64_t receiver, unsigned bytes, unsigned count) {
  unsigned hash = (unsigned)(source >> IN_SITU_CTA_SHIFT) * 0x9e3779b1u ^ (unsigned)(receiver >> IN_SITU_CTA_SHIFT) * 0x85ebca77u;
  hash += (unsigned)(source >> IN_SITU_LAUNCH_SHIFT) * 0xc2b2ae3du + (unsigned)(receiver >> IN_SITU_LAUNCH_SHIFT) * 0x27d4eb2fu;
  hash = (hash ^ hash >> 15) * 0x2c1b3c6du;
  hash ^= hash >> 14;
  const Entry free = {0, 0}, mine = {source, receiver};
  for (unsigned tries = 0; tries < 64; ++tries, ++hash) {
    InSituTransfer *row = constant(&context->transfers) + (hash & (unsigned)constant(&context->transfer_mask));
    Entry was = load(row);
    if (!equal(was, mine) && !equal(was, free)) continue;
    if (equal(was, free)) {
      was = exchange(row, free, mine);
      if (equal(was, free)) {
        add(sums + IN_SITU_NEW_ROWS, 1);
        was = mine;
      }
    }
    if (equal(was, mine)) {
      add(&row->bytes, bytes);
      if (count != 0) add(&row->count, count);
      return;
    }
  }
  add(sums + IN_SITU_LOST_BYTES, bytes);
}

// Adds bytes of a launch that this one read first of all.
INLINE void add_first_read(const InSituContext *context, uint64_t *sums, unsigned launch, unsigned source_launch, unsigned bytes) {
  const unsigned distance = launch - source_launch - 1;
  if (distance < IN_SITU_NEAR) {
    add(sums + IN_SITU_FIRST_READ + distance, bytes);
  } else {
    const uint64_t all = (uint64_t)IN_SITU_OF_LAUNCHES << IN_SITU_CTA_SHIFT;
    transfer(context, sums, (uint64_t)source_launch << IN_SITU_LAUNCH_SHIFT | all, (uint64_t)launch << IN_SITU_LAUNCH_SHIFT | all, bytes, 0);
  }
}

} // namespace

#endif
