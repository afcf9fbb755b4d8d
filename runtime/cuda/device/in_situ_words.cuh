// The effects of an access on a word: marks, rows in the set of received words and in the table of transfers, writers,
// and per-byte entries.
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

// An addition to a row of the table of transfers.
struct Received {
  unsigned bytes, count, stored;
};

__device__ ALWAYS_INLINE void add_to_row(InSituTransfer *row, Received what) {
  if (what.bytes != 0) add(&row->bytes, what.bytes);
  if (what.count != 0) add(&row->count, what.count);
  if (what.stored != 0) add(&row->stored, what.stored);
}

// Returns the hash of a source and a receiver, which is the first place to look for their row in the table of
// transfers.
__device__ ALWAYS_INLINE unsigned transfer_hash(uint64_t source, uint64_t receiver) {
  const unsigned source_hash = (unsigned)(source >> IN_SITU_CTA_SHIFT) * 0x9e3779b1u ^ (unsigned)(source >> IN_SITU_LAUNCH_SHIFT);
  return mixed(source_hash ^ (unsigned)(receiver >> IN_SITU_CTA_SHIFT) * 0x85ebca77u);
}

__device__ ALWAYS_INLINE InSituTransfer *transfer_at(const InSituContext *context, unsigned hash) {
  return constant(&context->transfers) + (hash & constant(&context->transfer_mask));
}

// Passes an addition on to the host.
__device__ inline void add_on_host(const InSituContext *context, uint64_t source, uint64_t receiver, Received what) {
  const uint64_t number = atomicAdd(reinterpret_cast<ulong64 *>(constant(&context->added)), 1ull), mask = constant(&context->addition_mask);
  if (number > mask) wait_until_above(constant(&context->taken), number - mask - 1);
  store_to_host(constant(&context->additions) + (number & mask), source | what.bytes,
                receiver | what.count << IN_SITU_ADDED_COUNT_SHIFT | what.stored);
}

// Adds to the row of a source and a receiver, creating it if there is none.
__device__ inline void transfer(const InSituContext *context, ulong64 parameter, uint64_t source, uint64_t receiver, Received what) {
  const Entry mine = {source, receiver}, free = {0, 0};
  const unsigned hash = transfer_hash(source, receiver);
  for (unsigned tries = 0; tries < ROWS_TRIED; ++tries) {
    InSituTransfer *row = transfer_at(context, hash + tries);
    Entry was = load(row);
    if (equal(was, free)) {
      was = exchange(row, free, mine);
      if (equal(was, free)) {
        add_same(sums_of(context, parameter) + IN_SITU_NEW_ROWS, 1);
        was = mine;
      }
    }
    if (equal(was, mine)) return add_to_row(row, what);
  }
  add_on_host(context, source, receiver, what);
}

__device__ ALWAYS_INLINE unsigned reader_hash(uint64_t me, uint64_t word) {
  return mixed((unsigned)(me >> IN_SITU_CTA_SHIFT) * 0x9e3779b1u ^ (unsigned)(word >> 5) * 0x85ebca77u);
}

// The number of places that the first tries use. It is small so that the part of the set that a launch usually needs
// stays in the L2 cache.
#define NEAR_PLACES ((64u << 20) / sizeof(InSituReader))
#define NEAR_TRIES 3

// Returns the next row to try for a word in the set of received words. Neighbouring words have neighbouring rows. The
// first tries use the near places, which may all be taken in large launches; later tries are scattered, since stepping
// alone might never leave the near places.
__device__ ALWAYS_INLINE uint64_t reader_place(unsigned hash, unsigned word, unsigned tries, uint64_t mask) {
  const unsigned next = hash + tries * (hash >> 7 | 1);
  const uint64_t group = tries < NEAR_TRIES ? next & (NEAR_PLACES / 32 - 1) : mixed(next);
  return (group << 5 | (word & 31)) & mask;
}

__device__ ALWAYS_INLINE InSituReader *reader_at(const InSituContext *context, unsigned hash, uint64_t word, unsigned tries) {
  return constant(&context->readers) + reader_place(hash, (unsigned)word, tries, constant(&context->reader_mask));
}

// Returns which of the received bytes the CTA had not received before in this launch, or -1 if this is unknown.
__device__ inline int newly_received(const InSituContext *context, uint64_t me, uint64_t word, unsigned bytes) {
  const uint64_t launch = me >> IN_SITU_LAUNCH_SHIFT, cta = me & ~(uint64_t)0x7ff;
  const unsigned hash = reader_hash(me, word);
  for (unsigned tries = 0; tries < ROWS_TRIED; ++tries) {
    InSituReader *place = reader_at(context, hash, word, tries);
    Entry was = load_cached(place);
    for (;;) {
      const bool is_mine = was.now == word && (was.before & ~(uint64_t)0x7ff) == cta;
      // Launches run in sequence, so all others have ended.
      if (!is_mine && was.before >> IN_SITU_LAUNCH_SHIFT == launch) break;
      const unsigned known = is_mine ? (unsigned)was.before & 0xf : 0;
      if ((bytes & ~known) == 0) return 0;
      const Entry found = exchange(place, was, {cta | known | bytes, word});
      if (equal(found, was)) return bytes & ~known;
      was = found;
    }
  }
  return -1;
}

__device__ inline bool is_split(Entry e) { return e.before == IN_SITU_IS_SPLIT; }

// Returns the per-byte entries of a split word.
__device__ inline Entry *bytes_of(Me me, Entry e) {
  const uint64_t most = constant(&me.context->split_most);
  if (e.now < most) return reinterpret_cast<Entry *>(constant(&me.context->split)) + 4 * e.now;
  return reinterpret_cast<Entry *>(constant(&me.context->more_split)) + 4 * (e.now - most);
}

// Values used in place of marked or received bytes: not known yet; kept in the per-byte entries; or marked in the wrong
// place, because the launch has written the entry in the meantime.
#define NOT_KNOWN -1
#define IS_IN_PARTS -2
#define IS_MOVED -3

// Marks bytes of an entry as read; their writer is in `now` if `is_past`. Returns the previous `before`.
__device__ ALWAYS_INLINE uint64_t begin_mark(Entry *place, bool is_past, unsigned marks) {
  return set_bits(place, (uint64_t)marks << in_situ_read_shift(is_past));
}

// Evaluates a mark. Returns the bytes that were not yet marked, or one of the values above. `before` and `is_past` may
// be stale.
__device__ ALWAYS_INLINE int end_mark(uint64_t was, uint64_t before, bool is_past, unsigned marks) {
  if (was == IN_SITU_IS_SPLIT) return IS_IN_PARTS;
  if (is_past && (was ^ before) >> IN_SITU_CTA_SHIFT != 0) return IS_MOVED;
  return (int)(marks & ~(unsigned)(was >> in_situ_read_shift(is_past)));
}

__device__ ALWAYS_INLINE int mark_entry(Entry *place, uint64_t before, bool is_past, unsigned marks) {
  return end_mark(begin_mark(place, is_past, marks), before, is_past, marks);
}

// Removes marks from bytes that the launch has written; the marks are not used before it ends. Returns false if the
// word is split.
__device__ inline bool try_remove_marks(Entry *place, unsigned marks) {
  for (Entry e = load(place); !is_split(e);) {
    const Entry was = exchange(place, e, {e.before & ~((uint64_t)marks << in_situ_read_shift(true)), e.now});
    if (equal(was, e)) return true;
    e = was;
  }
  return false;
}

__device__ inline void remove_marks(Me me, Entry *place, unsigned marks) {
  if (try_remove_marks(place, marks)) return;
  Entry *parts = bytes_of(me, load(place));
  for (unsigned byte = 0; byte < 4; ++byte)
    if (marks >> byte & 1) try_remove_marks(parts + byte, 1);
}

// Marks bytes of an entry, even if it changes in the meantime. Returns the bytes that were not yet marked, or
// IS_IN_PARTS.
__device__ inline int mark_in_full(Me me, Entry *place, uint64_t before, bool is_past, unsigned marks, int stored) {
  if (stored == NOT_KNOWN) stored = mark_entry(place, before, is_past, marks);
  if (stored != IS_MOVED) return stored;
  remove_marks(me, place, marks);
  return mark_entry(place, before, false, marks);
}

// Marks bytes of a split word. Returns how many were not yet marked.
__device__ inline unsigned mark_parts(Me me, Entry *place, unsigned marks) {
  Entry *parts = bytes_of(me, load(place));
  unsigned count = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    const Entry part = load(parts + byte);
    if (marks >> byte & 1) count += mark_in_full(me, parts + byte, part.before, in_situ_is_past(part, me.launch()), 1, NOT_KNOWN);
  }
  return count;
}

// Describes a load's communication: its bytes in bits 0-3, the entry's unmarked bytes in bits 4-7, and flags.
#define COUNTS (1u << 8)
#define IS_PAST (1u << 9)

__device__ ALWAYS_INLINE unsigned how_of(Me me, Entry e, unsigned bytes, unsigned marks, bool counts) {
  marks &= ~(unsigned)(in_situ_source(e, me.launch()) >> IN_SITU_BEFORE_READ_SHIFT);
  return bytes | marks << 4 | (counts ? COUNTS : 0) | (in_situ_is_past(e, me.launch()) ? IS_PAST : 0);
}

// Counts communicated bytes of a word: those read for the first time (`stored`) and those received (`found`), if known.
// Returns whether it is known which bytes were received before. Bytes with multiple writers, and bytes that may have
// been received before, are counted only per launch.
__device__ __attribute__((noinline)) bool communicated_in_full(const InSituContext *context, ulong64 parameter, uint64_t now, Entry *place,
                                                               uint64_t before, uint64_t source, uint64_t word, unsigned how, int stored,
                                                               int found) {
  const Me me(context, parameter, now);
  const unsigned bytes = how & 0xf, marks = how >> 4 & 0xf;
  stored = mark_in_full(me, place, before, how & IS_PAST, marks, stored);
  const unsigned read_first = stored == IS_IN_PARTS ? mark_parts(me, place, marks) : __popc((unsigned)stored);
  if (found == NOT_KNOWN) found = newly_received(context, now, word, bytes);
  const bool is_full = found < 0;
  const unsigned first = is_full ? 0 : __popc((unsigned)found);
  uint64_t bits = constant(&context->block_bits), from = source & bits, to = now & bits;
  Received what = {first, how & COUNTS && first != 0, read_first};
  if (is_full || source & IN_SITU_BEFORE_SEVERAL) {
    bits = ~(uint64_t)0 << IN_SITU_LAUNCH_SHIFT;
    // Uses one of several rows, depending on the SM, since all CTAs add to them.
    from = (source & bits) | (uint64_t)(sm_number() % IN_SITU_COPIES) << IN_SITU_CTA_SHIFT;
    to = (now & bits) | (uint64_t)(is_full ? IN_SITU_PERHAPS_AGAIN : IN_SITU_OF_LAUNCHES) << IN_SITU_CTA_SHIFT;
    what = {is_full ? __popc(bytes) : 0u, first, read_first};
  }
  if (what.bytes | what.count | what.stored) transfer(context, parameter, from, to, what);
  return !is_full;
}

__device__ ALWAYS_INLINE int pack_halves(int first, int next) { return (int)((unsigned)first << 16 | ((unsigned)next & 0xffff)); }

// Like `communicated_in_full`, for two words: the first is in the lower half of `how`, and in the upper halves of
// `stored` and `found`.
__device__ __attribute__((noinline)) unsigned communicated_pair_in_full(const InSituContext *context, ulong64 parameter, uint64_t now,
                                                                        Entry *place, uint64_t before, uint64_t next_before, uint64_t source,
                                                                        uint64_t word, unsigned how, int stored, int found) {
  const bool first = communicated_in_full(context, parameter, now, place, before, source, word, how & 0xffff, stored >> 16, found >> 16);
  const bool next = communicated_in_full(context, parameter, now, place + 1, next_before, source, word + 1, how >> 16, (int16_t)stored,
                                         (int16_t)found);
  return first | next << 1;
}

// Like `communicated_in_full`, for consecutive words from the same source about which nothing is known yet. Returns a
// bit for each word.
template <unsigned words>
__device__ __attribute__((noinline)) unsigned communicated(const InSituContext *context, ulong64 parameter, uint64_t now, Entry *place,
                                                           uint64_t before, uint64_t next_before, uint64_t source, uint64_t word,
                                                           unsigned how, unsigned next_how) {
  // Accesses to the set, the table of transfers and the entries overlap to hide latency.
  InSituReader *reader = reader_at(context, reader_hash(now, word), word, 0);
  Entry received[words];
#pragma unroll
  for (unsigned i = 0; i < words; ++i) received[i] = load_cached(reader + i);
  const uint64_t bits = constant(&context->block_bits), from = source & bits, to = now & bits;
  InSituTransfer *row = transfer_at(context, transfer_hash(from, to));
  const Entry row_key = load(row);
  uint64_t was[words];
#pragma unroll
  for (unsigned i = 0; i < words; ++i) {
    const unsigned marks = (i == 0 ? how : next_how) >> 4 & 0xf;
    if (marks != 0) was[i] = begin_mark(place + i, how & IS_PAST, marks);
  }
  int found[words], stored[words];
  Entry in_place[words];
  const uint64_t cta = now & ~(uint64_t)0x7ff;
#pragma unroll
  for (unsigned i = 0; i < words; ++i) {
    const bool is_free = (unsigned)(received[i].before >> IN_SITU_LAUNCH_SHIFT) != (unsigned)(now >> IN_SITU_LAUNCH_SHIFT);
    const bool is_mine = received[i].now == word + i && ((received[i].before ^ cta) & ~(uint64_t)0x7ff) == 0;
    const unsigned bytes = (i == 0 ? how : next_how) & 0xf;
    found[i] = is_free ? (int)bytes : is_mine && (bytes & ~(unsigned)received[i].before) == 0 ? 0 : NOT_KNOWN;
    if (is_free) in_place[i] = exchange(reader + i, received[i], {cta | bytes, word + i});
  }
  bool is_usual = row_key.before == from && row_key.now == to && !(source & IN_SITU_BEFORE_SEVERAL);
#pragma unroll
  for (unsigned i = 0; i < words; ++i) {
    const unsigned marks = (i == 0 ? how : next_how) >> 4 & 0xf;
    stored[i] = marks == 0 ? 0 : end_mark(was[i], i == 0 ? before : next_before, how & IS_PAST, marks);
    if (found[i] > 0 && !equal(in_place[i], received[i])) found[i] = NOT_KNOWN;
    is_usual = is_usual && (stored[i] | found[i]) >= 0;
  }
  if (is_usual) {
    const unsigned first = __popc((unsigned)found[0]);
    Received what = {first, how & COUNTS && first != 0, (unsigned)__popc((unsigned)stored[0])};
#pragma unroll
    for (unsigned i = 1; i < words; ++i) {
      what.bytes += __popc((unsigned)found[i]);
      what.stored += __popc((unsigned)stored[i]);
    }
    add_to_row(row, what);
    return ~0u;
  }
  if (words == 1) return out_of_line(communicated_in_full)(context, parameter, now, place, before, source, word, how, stored[0], found[0]);
  return out_of_line(communicated_pair_in_full)(context, parameter, now, place, before, next_before, source, word, how | next_how << 16,
                                           pack_halves(stored[0], stored[words - 1]), pack_halves(found[0], found[words - 1]));
}

// Records a write of `bytes` bytes in an entry that is not split. If the entry has been split in the meantime, sets `e`
// to the split marker.
__device__ inline void write_entry(Me me, Entry *place, Entry *e, unsigned bytes, bool plain) {
  while (!is_split(*e)) {
    const Entry next = in_situ_written(*e, me.now, plain);
    if (equal(next, *e)) return;
    const Entry was = exchange(place, *e, next);
    if (equal(was, *e)) {
      const bool is_new = e->now >> IN_SITU_LAUNCH_SHIFT != me.launch();
      const bool multiple = next.before & IN_SITU_NOW_SEVERAL, had_multiple = !is_new && e->before & IN_SITU_NOW_SEVERAL;
      if (multiple && !had_multiple) add(me.sums() + IN_SITU_SEVERAL_WRITERS, bytes);
      const bool racing = multiple && next.now & IN_SITU_PLAIN, raced = had_multiple && e->now & IN_SITU_PLAIN;
      if (racing && !raced) add(me.sums() + IN_SITU_RACING, bytes);
      return;
    }
    *e = was;
  }
}

__device__ inline void write_parts(const InSituContext *context, ulong64 parameter, Entry *parts, bool plain) {
  const Me me(context, parameter);
  for (unsigned byte = 0; byte < 4; ++byte) {
    Entry part = load(parts + byte);
    write_entry(me, parts + byte, &part, 1, plain);
  }
}

__device__ __attribute__((noinline)) void write_in_full(const InSituContext *context, ulong64 parameter, Entry *place, uint64_t before,
                                                        uint64_t now, unsigned bytes, bool plain) {
  const Me me(context, parameter);
  Entry e = {before, now};
  write_entry(me, place, &e, bytes, plain);
  if (is_split(e)) write_parts(context, parameter, bytes_of(me, e), plain);
}

// Records a write in consecutive `entries`, with overlapping accesses.
template <unsigned words> __device__ ALWAYS_INLINE void write(Me me, Entry *place, const Entry *entries, unsigned bytes, bool plain) {
  Entry was[words];
#pragma unroll
  for (unsigned i = 0; i < words; ++i) {
    const bool is_first = !is_split(entries[i]) && (unsigned)(entries[i].now >> IN_SITU_LAUNCH_SHIFT) != (unsigned)me.launch();
    was[i] = {~entries[i].before, 0};
    if (is_first) was[i] = exchange(place + i, entries[i], in_situ_written(entries[i], me.now, plain));
  }
#pragma unroll
  for (unsigned i = 0; i < words; ++i) {
    if (equal(was[i], entries[i])) continue;
    // Nothing changes if this thread was the first to write and, if this is a store, has stored before.
    if (((entries[i].now ^ me.now) & ~IN_SITU_PLAIN) == 0 && (!plain || entries[i].now & IN_SITU_PLAIN)) continue;
    // The same holds once multiple threads have changed the word with atomic operations.
    if (!plain && !is_split(entries[i]) && equal(in_situ_written(entries[i], me.now, plain), entries[i])) continue;
    out_of_line(write_in_full)(me.context, me.parameter, place + i, entries[i].before, entries[i].now, bytes, plain);
  }
}

// Returns a word's per-byte entries, creating them if needed, or null if there is no room for them.
__device__ Entry *split(Me me, Entry *place, Entry e) {
  Entry *own = nullptr;
  uint64_t number = 0;
  while (!is_split(e)) {
    if (own == nullptr) {
      number = atomicAdd(reinterpret_cast<ulong64 *>(me.context->split), 1ull) + 1;
      if (number >= constant(&me.context->split_most) + constant(&me.context->more_split_most)) return nullptr;
      own = bytes_of(me, {IN_SITU_IS_SPLIT, number});
    }
    for (unsigned byte = 0; byte < 4; ++byte) {
      // Moves the byte's marks to their position in a single-byte entry.
      const uint64_t past = e.before >> (IN_SITU_BEFORE_READ_SHIFT + byte) & 1, present = e.before >> (IN_SITU_NOW_READ_SHIFT + byte) & 1;
      Entry one = e;
      if (!(e.before & IN_SITU_SPECIAL)) one.before = (e.before & ~(uint64_t)0x3fc) | past << IN_SITU_BEFORE_READ_SHIFT;
      if (in_situ_has_now(e)) one.before = (one.before & ~(uint64_t)0x3c) | present << IN_SITU_NOW_READ_SHIFT;
      own[byte] = one;
    }
    const Entry was = exchange_released(place, e, {IN_SITU_IS_SPLIT, number});
    if (equal(was, e)) return own;
    e = was;
  }
  return bytes_of(me, e);
}

} // namespace

#endif
