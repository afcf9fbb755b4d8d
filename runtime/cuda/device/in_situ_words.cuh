// What an access does to a word: marks, rows of the set of what CTAs received and of the table of transfers, writers, entries of bytes.
#ifndef SUPERSTEP_IN_SITU_WORDS_CUH
#define SUPERSTEP_IN_SITU_WORDS_CUH

#include "in_situ_shadow.cuh"

namespace {

#define ROWS_TRIED 64

__device__ ALWAYS_INLINE unsigned mixed(unsigned x) {
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  return x ^ x >> 16;
}

// What is to be added to a row of the table of transfers.
struct Received {
  unsigned bytes, count, stored;
};

// Adds to a row if it is that of a source and a receiver, or free.
__device__ inline bool add_to_row(Me me, InSituTransfer *row, Entry mine, Received what) {
  const Entry free = {0, 0};
  Entry was = load(row);
  if (equal(was, free)) {
    was = exchange(row, free, mine);
    if (equal(was, free)) {
      add(me.sums() + IN_SITU_NEW_ROWS, 1);
      was = mine;
    }
  }
  if (!equal(was, mine)) return false;
  if (what.bytes != 0) add(&row->bytes, what.bytes);
  if (what.count != 0) add(&row->count, what.count);
  if (what.stored != 0) add(&row->stored, what.stored);
  return true;
}

// Adds to the row of a source and a receiver in the table of transfers.
__device__ inline void transfer(Me me, uint64_t source, uint64_t receiver, Received what) {
  const Entry mine = {source, receiver};
  const unsigned of_source = (unsigned)(source >> IN_SITU_CTA_SHIFT) * 0x9e3779b1u ^ (unsigned)(source >> IN_SITU_LAUNCH_SHIFT);
  unsigned hash = mixed(of_source ^ (unsigned)(receiver >> IN_SITU_CTA_SHIFT) * 0x85ebca77u);
  for (unsigned tries = 0; tries < ROWS_TRIED; ++tries, ++hash)
    if (add_to_row(me, constant(&me.context->transfers) + (hash & constant(&me.context->transfer_mask)), mine, what)) return;
  add(me.sums() + IN_SITU_LOST_BYTES, what.bytes + what.stored);
}

// Of bytes that the CTA received, those that it had not yet in this launch. Sets `full` where nobody knows.
__device__ inline unsigned first_here(Me me, uint64_t word, unsigned bytes, bool *full) {
  // Neighbouring words lie in neighbouring places. Steps differ from word to word, so that a crowded place stays short.
  const unsigned hash = mixed((unsigned)(me.now >> IN_SITU_CTA_SHIFT) * 0x9e3779b1u ^ (unsigned)(word >> 5) * 0x85ebca77u);
  uint64_t row = (uint64_t)hash << 5;
  const uint64_t step = (hash >> 7 | 1) << 5;
  for (unsigned tries = 0; tries < ROWS_TRIED; ++tries, row += step) {
    InSituReader *place = constant(&me.context->readers) + ((row | (word & 31)) & constant(&me.context->reader_mask));
    Entry was = load_cached(place);
    for (;;) {
      const bool is_mine = was.now == word && (was.before & ~(uint64_t)0x7ff) == me.cta();
      // Launches run one after the other: what is not of this one is over.
      if (!is_mine && was.before >> IN_SITU_LAUNCH_SHIFT == me.launch()) break;
      const unsigned known = is_mine ? (unsigned)was.before & 0xf : 0;
      if ((bytes & ~known) == 0) return 0;
      const Entry found = exchange(place, was, {me.cta() | known | bytes, word});
      if (equal(found, was)) return bytes & ~known;
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
    const unsigned unread = marks & ~(unsigned)(in_situ_source(*e, me.launch()) >> IN_SITU_BEFORE_READ_SHIFT);
    if (unread == 0) return 0;
    const Entry was = exchange(place, *e, in_situ_mark(*e, me.launch(), unread));
    if (equal(was, *e)) return unread;
    *e = was; // marks and writers of this launch can have been added, or it was split: the source is the same
  }
  return 0;
}

__device__ __attribute__((noinline)) unsigned mark_parts(Me me, Entry e, unsigned marks) {
  Entry *parts = bytes_of(me, e);
  unsigned count = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    Entry part = load(parts + byte);
    if (marks >> byte & 1) count += __popc(mark_entry(me, parts + byte, &part, 1));
  }
  return count;
}

// The same for any entry; answers how many they were.
__device__ inline unsigned mark(Me me, Entry *place, Entry e, unsigned marks) {
  const unsigned count = __popc(mark_entry(me, place, &e, marks));
  return is_split(e) ? count + mark_parts(me, e, marks) : count;
}

// What follows from `bytes` of a word that communicate, which the entry calls `marks`: those read first, and those received. Answers
// whether that is known of all of them. Bytes with several writers, and bytes that were perhaps received before, count by launch only.
__device__ __attribute__((noinline)) bool communicated(Me me, Entry *place, Entry e, uint64_t address, unsigned bytes,
                                                       unsigned marks, bool counts) {
  const uint64_t source = in_situ_source(e, me.launch());
  const unsigned stored = mark(me, place, e, marks);
  bool full = false;
  const unsigned first = __popc(first_here(me, address >> 2, bytes, &full));
  uint64_t bits = constant(&me.context->block_bits), from = source & bits, to = me.now & bits;
  Received what = {first, counts && first != 0, stored};
  if (full || source & IN_SITU_BEFORE_SEVERAL) {
    bits = ~(uint64_t)0 << IN_SITU_LAUNCH_SHIFT;
    from = (source & bits) | (uint64_t)IN_SITU_OF_LAUNCHES << IN_SITU_CTA_SHIFT;
    to = (me.now & bits) | (uint64_t)(full ? IN_SITU_PERHAPS_AGAIN : IN_SITU_OF_LAUNCHES) << IN_SITU_CTA_SHIFT;
    what = {full ? __popc(bytes) : 0u, first, stored};
  }
  if (what.bytes | what.count | what.stored) transfer(me, from, to, what);
  return !full;
}

// A write of the `bytes` bytes that an entry stands for, which is not split. Where it has been split, `e` is its mark.
__device__ inline void write_entry(Me me, Entry *place, Entry *e, unsigned bytes, bool plain) {
  while (!is_split(*e)) {
    const Entry next = in_situ_written(*e, me.now, plain);
    if (equal(next, *e)) return;
    const Entry was = exchange(place, *e, next);
    if (equal(was, *e)) {
      const bool is_new = e->now >> IN_SITU_LAUNCH_SHIFT != me.launch();
      const bool several = next.before & IN_SITU_NOW_SEVERAL, had = !is_new && e->before & IN_SITU_NOW_SEVERAL;
      if (several && !had) add(me.sums() + IN_SITU_SEVERAL_WRITERS, bytes);
      const bool racing = several && next.now & IN_SITU_PLAIN, raced = had && e->now & IN_SITU_PLAIN;
      if (racing && !raced) add(me.sums() + IN_SITU_RACING, bytes);
      return;
    }
    *e = was;
  }
}

__device__ __attribute__((noinline)) void write_parts(Me me, Entry e, bool plain) {
  Entry *parts = bytes_of(me, e);
  for (unsigned byte = 0; byte < 4; ++byte) {
    Entry part = load(parts + byte);
    write_entry(me, parts + byte, &part, 1, plain);
  }
}

// The same for any entry.
__device__ inline void write(Me me, Entry *place, Entry e, unsigned bytes, bool plain) {
  write_entry(me, place, &e, bytes, plain);
  if (is_split(e)) write_parts(me, e, plain);
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

} // namespace

#endif
