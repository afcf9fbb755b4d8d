// The handler for the `in-situ` protocol. Classifies each access using the shadow of its memory, and counts it instead
// of recording it. docs/capture/in-situ.md describes the rules, and in_situ.h contains the rules for entries.
//
// Lanes do not exchange data: if a warp has diverged, `__match_any_sync` and similar functions wait, take as long as an
// atomic operation if the values differ, and serialise groups of lanes. ptxas also leaves a kernel fewer registers if
// it calls such functions.

#include "in_situ_counts.cuh"
#include "in_situ_words.cuh"

namespace {

// An access of 16 bytes reads those of at most this many writers.
#define MAX_SOURCES 16

// Handles an arbitrary access, one lane at a time.
__device__ __attribute__((noinline)) void each_byte(const InSituContext *context, ulong64 parameter, unsigned operation, uint64_t address,
                                                    unsigned width_bytes) {
  const Me me(context, parameter);
  const uint64_t end = address + width_bytes;
  // The access counts once for each of these writers.
  uint64_t sources[MAX_SOURCES];
  unsigned source_count = 0;
  for (uint64_t word = address & ~(uint64_t)3; word < end; word += 4) {
    unsigned bytes = 0xf;
    if (word < address) bytes &= 0xf << (address - word);
    if (word + 4 > end) bytes &= 0xf >> (word + 4 - end);
    Entry *place = entry_of(me, word, operation != IN_SITU_LOAD);
    if (place == nullptr) {
      const unsigned amount = __popc(bytes);
      if (operation != IN_SITU_STORE) {
        add(me.sums() + IN_SITU_BYTES + IN_SITU_UNKNOWN, amount);
        add(me.sums() + IN_SITU_UNSHADOWED_LOADED, amount);
      }
      if (operation != IN_SITU_LOAD) add(me.sums() + IN_SITU_UNSHADOWED_STORED, amount);
      continue;
    }
    Entry e = load(place);
    Entry *parts = nullptr;
    if (is_split(e) || (operation != IN_SITU_LOAD && bytes != 0xf)) {
      parts = split(me, place, e);
      if (parts == nullptr) {
        add(me.sums() + IN_SITU_NOT_SPLIT, 1);
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
        add(me.sums() + IN_SITU_BYTES + found, amount);
        if (operation == IN_SITU_LOAD) count_within_launch(me, e, amount);
        if (found != IN_SITU_LOCAL && is_perhaps_local(me, e)) add(me.sums() + IN_SITU_PERHAPS_LOCAL, amount);
        if (found == IN_SITU_COMMUNICATED) {
          const uint64_t source = in_situ_source(e, me.launch());
          bool counts = true;
          for (unsigned i = 0; i < source_count; ++i) counts = counts && (sources[i] ^ source) >> IN_SITU_CTA_SHIFT != 0;
          if (counts && source_count < MAX_SOURCES) sources[source_count++] = source;
          communicated_in_full(me.context, me.parameter, me.now, at, e.before, source, word >> 2,
                               how_of(me, e, own_bytes, parts == nullptr ? bytes : 1, counts), NOT_KNOWN, NOT_KNOWN);
        }
      }
      if (operation != IN_SITU_LOAD)
        write_in_full(me.context, me.parameter, at, e.before, e.now, __popc(own_bytes), operation == IN_SITU_STORE);
    }
  }
}

__device__ ALWAYS_INLINE void access_bytes(Me me, unsigned operation, uint64_t address, unsigned width_bytes) {
  out_of_line(each_byte)(me.context, me.parameter, operation, address, width_bytes);
}

// The result of examining an access. An access is examined only once, although words may be split later.
struct Look {
  bool is_simple; // a byte, or unsplit words of the same class that are accessed in full or loaded in part
  unsigned words, class_id;
  unsigned bytes, marks; // accessed bytes of each word; their marks in the entry
  Entry *place;
  Entry entries[4];
};

// Aligned accesses of up to 16 bytes never cross a block boundary.
__device__ inline Look look(Me me, unsigned operation, uint64_t address, unsigned width_bytes) {
  Look found;
  found.words = width_bytes >= 4 ? width_bytes / 4 : 1;
  found.bytes = width_bytes >= 4 ? 0xf : ((1u << width_bytes) - 1) << (address & 3);
  found.marks = found.bytes;
  found.class_id = IN_SITU_NONE;
  found.is_simple = false;
  if ((width_bytes == 2 && operation != IN_SITU_LOAD) || (address & (width_bytes - 1)) != 0) return found;
  found.place = entry_of(me, address, operation != IN_SITU_LOAD);
  if (found.place == nullptr) return found;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
    if (i < found.words) found.entries[i] = load(found.place + i);
  if (width_bytes == 1) {
    if (is_split(found.entries[0])) {
      found.place = bytes_of(me, found.entries[0]) + (address & 3);
      found.entries[0] = load(found.place);
      found.marks = 1;
    } else if (operation != IN_SITU_LOAD) {
      return found;
    }
  }
  bool is_simple = true;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
    if (i < found.words) is_simple = is_simple && !is_split(found.entries[i]);
  if (is_simple && operation != IN_SITU_STORE) {
    const unsigned class_id = class_of(me, found.entries[0]);
#pragma unroll
    for (unsigned i = 1; i < 4; ++i)
      if (i < found.words) is_simple = is_simple && class_of(me, found.entries[i]) == class_id;
    if (is_simple) found.class_id = class_id;
  }
  found.is_simple = is_simple;
  return found;
}

// Returns the class of consecutive words, or IN_SITU_NONE if one is split or the classes differ.
template <unsigned words> __device__ ALWAYS_INLINE unsigned class_of_all(Me me, const Entry *entries) {
  unsigned class_id = IN_SITU_NONE;
#pragma unroll
  for (unsigned i = 0; i < words; ++i) {
    const unsigned word_class = is_split(entries[i]) ? IN_SITU_NONE : class_of(me, entries[i]);
    if (i == 0) class_id = word_class;
    else if (word_class != class_id) class_id = IN_SITU_NONE;
  }
  return class_id;
}

// Handles consecutive words, from number `first` on, of a load or an atomic operation that reads words of the same class.
// `all` contains the entries of the whole access, which counts once for each writer. Many threads often perform atomic
// operations on the same address.
template <unsigned words, bool is_atomic>
__device__ ALWAYS_INLINE void load_words(Me me, Entry *place, const Entry *all, unsigned first, uint64_t address, unsigned class_id,
                                         unsigned bytes, unsigned marks) {
  const Entry *entries = all + first;
  if (class_id != IN_SITU_LOCAL) {
#pragma unroll
    for (unsigned i = 0; i < words; ++i)
      if (is_perhaps_local(me, entries[i])) {
        if (is_atomic) add_same(me.sums() + IN_SITU_PERHAPS_LOCAL, 4);
        else add(me.sums() + IN_SITU_PERHAPS_LOCAL, __popc(bytes));
      }
  }
  // After an atomic operation on input, the entry still marks the word as input.
  if (class_id > IN_SITU_INPUT || (is_atomic && class_id == IN_SITU_INPUT)) return;
  const Known known(me, address);
  unsigned knows = (1u << words) - 1;
  if (class_id == IN_SITU_COMMUNICATED) {
    if (bytes == 0xf) knows = claimed<words>(me, known);
    const uint64_t word = address >> 2, source = in_situ_source(entries[0], me.launch());
    const unsigned how = how_of(me, entries[0], bytes, marks, is_new_source(me, all, first));
    if (words == 1) {
      if (knows != 0) knows = communicated<1>(me.context, me.parameter, me.now, place, entries[0].before, 0, source, word, how, 0);
    } else {
      const Entry next = entries[words - 1];
      const uint64_t next_source = in_situ_source(next, me.launch());
      const unsigned next_how = how_of(me, next, bytes, marks, is_new_source(me, all, first + words - 1));
      if (knows == 3 && (source ^ next_source) >> 10 == 0 && ((how ^ next_how) & IS_PAST) == 0) {
        knows = communicated<2>(me.context, me.parameter, me.now, place, entries[0].before, next.before, source, word, how, next_how);
      } else {
        if (knows & 1 && !communicated<1>(me.context, me.parameter, me.now, place, entries[0].before, 0, source, word, how, 0)) knows &= ~1u;
        if (knows & 2 && !communicated<1>(me.context, me.parameter, me.now, place + 1, next.before, 0, next_source, word + 1, next_how, 0))
          knows &= ~2u;
      }
    }
  }
#pragma unroll
  for (unsigned i = 0; i < words; ++i)
    if (knows >> i & 1) keep_known(known, i, bytes, code_of(class_id));
}

// Handles an access whose lanes are counted one by one.
__device__ inline void access(Me me, unsigned operation, uint64_t address, unsigned width_bytes) {
  const unsigned width_log2 = width_bytes < 2 ? 0 : width_bytes < 4 ? 1 : width_bytes < 8 ? 2 : width_bytes < 16 ? 3 : 4;
  if (width_bytes != 1u << width_log2) {
    add(me.sums() + IN_SITU_ODD_THREADS + operation, 1);
    add(me.sums() + IN_SITU_ODD_BYTES + operation, width_bytes);
    return access_bytes(me, operation, address, width_bytes);
  }
  const Look found = look(me, operation, address, width_bytes);
  if (operation != IN_SITU_STORE) add(threads_of(me, operation, width_log2, IN_SITU_INPUT), 1);
  if (found.class_id != IN_SITU_INPUT) add(threads_of(me, operation, width_log2, found.class_id), 1);
  if (!found.is_simple) return access_bytes(me, operation, address, width_bytes);
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    if (i >= found.words) break;
    const Entry *e = &found.entries[i];
    const uint64_t word = (address & ~(uint64_t)3) + 4 * i;
    if (operation == IN_SITU_LOAD) count_within_launch(me, *e, __popc(found.bytes));
    if (operation != IN_SITU_STORE) load_words<1, false>(me, found.place + i, found.entries, i, word, found.class_id, found.bytes, found.marks);
    if (operation != IN_SITU_LOAD) write<1>(me, found.place + i, e, found.bytes == 0xf ? 4 : 1, operation == IN_SITU_STORE);
  }
}

// Handles a load from a line to which this launch has stored. Returns the code of the class to count it as, or 0 if it
// must be examined further.
template <unsigned width_bytes>
__device__ __attribute__((noinline)) unsigned load_where_stored(const void *context, uint64_t block_address, ulong64 launch, uint64_t known,
                                                                uint64_t cta_row, uint64_t address) {
  const Me me(context, launch);
  const Entry *place = entry_in(reinterpret_cast<const InSituBlock *>(block_address), address);
  unsigned code = 0, other_cta_words = 0;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    if (i != 0 && 4 * i >= width_bytes) break;
    const Entry e = load(place + i);
    unsigned word_code = 0;
    if (((e.now ^ me.now) & ~IN_SITU_PLAIN) == 0) word_code = code_of(IN_SITU_LOCAL);
    else if (is_split(e) || is_perhaps_local(me, e)) return 0;
    else if (in_situ_is_past(e, me.launch())) word_code = 0;
    else if (e.before >> 6 == 0) word_code = code_of(IN_SITU_INPUT);
    else if (e.before >> 6 == IN_SITU_UNWRITTEN >> 6) word_code = code_of(IN_SITU_UNINITIALISED);
    if (i == 0) code = word_code;
    else if (word_code != code) return 0;
    other_cta_words += in_situ_is_of_another_cta(e, me.now);
  }
  if (code == 0) code = known_class<width_bytes>(known, cta_row, address);
  // A load with code 0 is examined again.
  if (__builtin_expect(other_cta_words != 0, 0) && code != 0 && !is_left_out(context, launch))
    add(me.sums() + IN_SITU_WITHIN_LAUNCH, other_cta_words * (width_bytes < 4 ? width_bytes : 4));
  return code;
}

// Handles and counts a load that is not simple.
__device__ __attribute__((noinline)) void load_bytes(const InSituContext *context, ulong64 launch, uint64_t address, unsigned width_log2) {
  const Me me(context, launch);
  add(threads_of(me, IN_SITU_LOAD, width_log2, IN_SITU_NONE), 1);
  access_bytes(me, IN_SITU_LOAD, address, 1u << width_log2);
}

// Handles a load whose class is not yet known. `block_address` is 0 unless the load is simple. Returns the code of the
// class to count it as, or 0 if it has already been counted.
template <unsigned width_log2>
__device__ __attribute__((noinline)) unsigned load_unclassified(const void *raw_context, ulong64 launch, uint64_t block_address,
                                                                uint64_t address) {
  if (is_left_out(raw_context, launch)) return 0;
  const InSituContext *context = static_cast<const InSituContext *>(raw_context);
  constexpr unsigned width_bytes = 1u << width_log2, words = width_bytes >= 4 ? width_bytes / 4 : 1;
  const Me me(context, launch);
  const unsigned bytes = width_bytes >= 4 ? 0xf : ((1u << width_bytes) - 1) << ((unsigned)address & 3);
  unsigned marks = bytes, class_id = IN_SITU_NONE;
  Entry *place = nullptr;
  Entry entries[words];
  if (block_address != 0) {
    place = entry_in(reinterpret_cast<const InSituBlock *>(block_address), address);
#pragma unroll
    for (unsigned i = 0; i < words; ++i) entries[i] = load(place + i);
    if (width_bytes == 1 && is_split(entries[0])) {
      place = bytes_of(me, entries[0]) + (address & 3);
      entries[0] = load(place);
      marks = 1;
    }
    class_id = class_of_all<words>(me, entries);
  }
  if (class_id == IN_SITU_NONE) {
    load_bytes(context, launch, address, width_log2);
    return 0;
  }
#pragma unroll
  for (unsigned i = 0; i < words; ++i) count_within_launch(me, entries[i], __popc(bytes));
  constexpr unsigned step = words >= 2 ? 2 : 1;
#pragma unroll
  for (unsigned i = 0; i < words; i += step)
    load_words<step, false>(me, place + i, entries, i, (address & ~(uint64_t)3) + 4 * i, class_id, bytes, marks);
  if (class_id != IN_SITU_UNKNOWN) return code_of(class_id);
  add(threads_of(me, IN_SITU_LOAD, width_log2, class_id), 1);
  return 0;
}

__device__ inline unsigned operation_of(unsigned site) {
  const unsigned code = site >> 28;
  return code == 1 ? IN_SITU_LOAD : code == 2 ? IN_SITU_STORE : IN_SITU_ATOMIC;
}

// Each kind of access has a separate function. If these functions were inlined at every site, they would make up most
// of a kernel, and ptxas would take minutes.
template <unsigned width_bytes> __device__ __attribute__((noinline)) void store_of(const void *context, ulong64 launch, uint64_t address) {
  if (is_left_out(context, launch)) return;
  const Me me(context, launch);
  const Look found = look(me, IN_SITU_STORE, address, width_bytes);
  if (!found.is_simple) return access_bytes(me, IN_SITU_STORE, address, width_bytes);
  write<(width_bytes >= 4 ? width_bytes / 4 : 1)>(me, found.place, found.entries, found.bytes == 0xf ? 4 : 1, true);
}

// Handles an atomic operation that is not simple or has a width other than 4 or 8, after its access group has been
// counted.
__device__ __attribute__((noinline)) void atomic_of(const void *context, ulong64 launch, uint64_t address, unsigned width_bytes) {
  access(Me(context, launch), IN_SITU_ATOMIC, address, width_bytes);
}

// Returns whether an atomic operation leaves an entry unchanged: the thread was the first to write in this launch, or
// multiple threads have written, from multiple CTAs if the first was in another CTA. Once true, this remains true until
// the launch ends.
__device__ ALWAYS_INLINE bool is_settled(Me me, Entry e) {
  if ((e.now ^ me.now) >> IN_SITU_LAUNCH_SHIFT != 0) return false;
  return is_own(me, e) || (e.before & IN_SITU_SEVERAL_THREADS && ((e.now ^ me.now) >> IN_SITU_CTA_SHIFT == 0 || e.before & IN_SITU_NOW_SEVERAL));
}

// Handles an atomic operation that loads something other than input or changes entries. `block_address` is 0 unless the
// operation is simple.
template <unsigned width_log2>
__device__ __attribute__((noinline)) void atomic_unsettled(const void *context, ulong64 launch, uint64_t block_address, uint64_t address) {
  if (is_left_out(context, launch)) return;
  const Me me(context, launch);
  constexpr unsigned words = 1u << width_log2 >> 2;
  unsigned class_id = IN_SITU_NONE;
  Entry *place = nullptr;
  Entry entries[words];
  if (block_address != 0) {
    store_line(line_place(load_block(reinterpret_cast<const InSituBlock *>(block_address)).y, address), (unsigned)me.launch());
    place = entry_in(reinterpret_cast<const InSituBlock *>(block_address), address);
#pragma unroll
    for (unsigned i = 0; i < words; ++i) entries[i] = load(place + i);
    class_id = class_of_all<words>(me, entries);
  }
  if (class_id == IN_SITU_NONE) return out_of_line(atomic_of)(context, launch, address, 4 * words);
  add_same(threads_of(me, IN_SITU_ATOMIC, width_log2, IN_SITU_INPUT), 1);
  if (class_id == IN_SITU_COMMUNICATED) add_same(threads_of(me, IN_SITU_ATOMIC, width_log2, IN_SITU_COMMUNICATED), 1);
  else if (class_id == IN_SITU_OWN) add_same(threads_of(me, IN_SITU_ATOMIC, width_log2, IN_SITU_OWN), 1);
  else if (class_id != IN_SITU_INPUT) add(threads_of(me, IN_SITU_ATOMIC, width_log2, class_id), 1);
  load_words<words, true>(me, place, entries, 0, address, class_id, 0xf, 0xf);
#pragma unroll
  for (unsigned i = 0; i < words; ++i) {
    write_entry(me, place + i, entries + i, 4, false);
    if (is_split(entries[i])) out_of_line(write_in_full)(me.context, me.parameter, place + i, entries[i].before, entries[i].now, 4, false);
  }
}

// Handles accesses of other widths, and those whose sites or widths may differ between lanes.
__device__ __attribute__((noinline)) void access_any(const void *context, ulong64 launch, unsigned operation, uint64_t address,
                                                     unsigned width_bytes) {
  if (is_left_out(context, launch)) return;
  const Me me(context, launch);
  count_group(me, operation);
  access(me, operation, address, width_bytes);
}

// Handles a load from a line to which launch `stored_in` was the last to store. The line is in block `block_address` if
// the load is simple.
template <unsigned width_log2>
__device__ ALWAYS_INLINE void load_from_stored_line(const void *context, ulong64 launch, uint64_t address, InSituFunction *function,
                                                    uint64_t block_address, bool is_simple, unsigned stored_in) {
  constexpr unsigned width_bytes = 1u << width_log2;
  auto &counted = function->widths[width_log2];
  unsigned code = 0;
  if (is_simple) {
    // If the current launch has stored to the line, this thread may have done so.
    const int present = (int)((unsigned)launch & ((1u << IN_SITU_LAUNCH_BITS) - 1));
    if (__builtin_expect((int)stored_in >= present, 0))
      code = load_where_stored<width_bytes>(context, block_address, launch, function->known, function->row, address);
    else if (stored_in == ~0u) code = code_of(IN_SITU_UNINITIALISED);
    else code = known_class<width_bytes>(function->known, function->row, address);
  }
  if (__builtin_expect(code == 0, 0)) code = load_unclassified<width_log2>(context, launch, is_simple ? block_address : 0, address);
  counted.by_class += shifted(1, 8 * code - 8);
  if (__builtin_expect((counted.by_class & 0x80808080) == 0, 1)) return;
  add_classes(context, launch, width_log2, counted.by_class);
  counted.by_class = 0;
}

// An address's place in the table of blocks, and the lines of that block. An access is simple if it is aligned and the
// block has a shadow.
struct Place {
  uint64_t block_address, lines;
  bool is_simple;
};

template <unsigned width_log2> __device__ ALWAYS_INLINE Place place_of(uint64_t address, const InSituFunction *function) {
  const unsigned number = (unsigned)(address >> IN_SITU_BLOCK_SHIFT);
  const uint64_t block_address = function->blocks + (number & function->block_mask) * sizeof(InSituBlock);
  const ulonglong2 block = load_block(reinterpret_cast<const InSituBlock *>(block_address));
  return {block_address, block.y, (((unsigned)address & ((1u << width_log2) - 1)) | ((unsigned)block.x ^ number)) == 0};
}

// Handles a load. Most loads are completed either here, because only the host has written their lines, or one step
// later, using the CTA's cache.
template <unsigned width_log2>
__device__ ALWAYS_INLINE void load_at(const void *context, ulong64 launch, uint64_t address, InSituFunction *function) {
  auto &counted = function->widths[width_log2];
  count_threads<IN_SITU_LOAD, width_log2>(context, launch, counted.loads, counted.loads_apart);
  const Place found = place_of<width_log2>(address, function);
  unsigned stored_in = ~0u;
  if (found.is_simple) stored_in = load_line(line_place(found.lines, address));
  if (stored_in != 0) load_from_stored_line<width_log2>(context, launch, address, function, found.block_address, found.is_simple, stored_in);
}

template <unsigned width_log2>
__device__ ALWAYS_INLINE void store_at(const void *context, ulong64 launch, uint64_t address, InSituFunction *function) {
  auto &counted = function->widths[width_log2];
  count_threads<IN_SITU_STORE, width_log2>(context, launch, counted.stores, counted.stores_apart);
  store_of<1u << width_log2>(context, launch, address);
}

// Handles an atomic operation. Most are on words that threads in the CTA access repeatedly; these are completed here.
template <unsigned width_log2>
__device__ ALWAYS_INLINE void atomic_at(const void *context, ulong64 launch, uint64_t address, InSituFunction *function) {
  if (__builtin_expect(__activemask() != 0xffffffffu, 0)) atomics_apart(context, launch);
  if (width_log2 < 2 || width_log2 > 3) {
    if (!is_left_out(context, launch)) out_of_line(atomic_of)(context, launch, address, 1u << width_log2);
    return;
  }
  const Me me(context, launch);
  auto &counted = function->widths[width_log2];
  const Place found = place_of<width_log2>(address, function);
  if (found.is_simple) {
    const Entry *place = entry_in(reinterpret_cast<const InSituBlock *>(found.block_address), address);
    const Entry e = load_cached(place), next = width_log2 == 3 ? load_cached(place + 1) : e;
    const bool is_local = is_own(me, e);
    const bool is_input = (e.before | next.before) >> 6 == 0;
    if (__builtin_expect(is_input && is_settled(me, e) && is_settled(me, next) && is_local == is_own(me, next), 1)) {
      // Records the write so that the thread's own loads do not miss it.
      if ((e.now ^ me.now) >> IN_SITU_CTA_SHIFT != 0) store_line(line_place(found.lines, address), (unsigned)me.launch());
      counted.local += is_local;
      if (!count(counted.settled, counted.settled_apart)) return;
      add_settled(context, launch, width_log2, counted.settled, counted.settled_apart, counted.local);
      counted.settled = counted.settled_apart = counted.local = 0;
      return;
    }
  }
  atomic_unsettled<width_log2>(context, launch, found.is_simple ? found.block_address : 0, address);
}

// Handles an access whose width is known at compile time.
template <unsigned width_log2>
__device__ ALWAYS_INLINE void access_at(const void *context, ulong64 launch, unsigned operation, uint64_t address, InSituFunction *function) {
  if (operation == IN_SITU_LOAD) return load_at<width_log2>(context, launch, address, function);
  if (operation == IN_SITU_STORE) return store_at<width_log2>(context, launch, address, function);
  atomic_at<width_log2>(context, launch, address, function);
}

// Handles an access. `is_constant` means that the site and the width are compile-time constants.
__device__ ALWAYS_INLINE void access_from(void *context, ulong64 launch, unsigned site, void *address, unsigned width_bytes, void *own,
                                          bool is_constant) {
  InSituFunction *function = static_cast<InSituFunction *>(own);
  const uint64_t where = reinterpret_cast<uint64_t>(address);
  const unsigned operation = operation_of(site);
  if (!is_constant) return access_any(context, launch, operation, where, width_bytes);
  switch (width_bytes) {
  case 1: return access_at<0>(context, launch, operation, where, function);
  case 2: return access_at<1>(context, launch, operation, where, function);
  case 4: return access_at<2>(context, launch, operation, where, function);
  case 8: return access_at<3>(context, launch, operation, where, function);
  case 16: return access_at<4>(context, launch, operation, where, function);
  default: return access_any(context, launch, operation, where, width_bytes);
  }
}

} // namespace

static_assert(sizeof(InSituFunction) == 24 * sizeof(uint64_t), "the instrumenter reserves COUNTER_WORDS words (instrument/src/probe.rs)");

// Begins a function that contains accesses. `own` is the function's memory for counting them.
extern "C" __device__ __attribute__((always_inline)) void __superstep_probe_begin(void *raw_context, unsigned long long launch, void *own) {
  const InSituContext *context = static_cast<const InSituContext *>(raw_context);
  InSituFunction *function = static_cast<InSituFunction *>(own);
  *function = {};
  function->row = row_of(cta_number(), launch);
  function->blocks = reinterpret_cast<uint64_t>(constant(&context->blocks));
  function->known = reinterpret_cast<uint64_t>(constant(&context->known));
  function->block_mask = (unsigned)constant(&context->block_mask);
}

extern "C" __device__ __attribute__((always_inline)) void
__superstep_probe_access(void *context, unsigned long long launch, unsigned site, void *address, unsigned width_bytes, void *own) {
  access_from(context, launch, site, address, width_bytes, own, __builtin_constant_p(site) && __builtin_constant_p(width_bytes));
}

// Adds a function's counts to the launch's sums when the function returns or may exit.
extern "C" __device__ __attribute__((always_inline)) void __superstep_probe_end(void *context, unsigned long long launch, void *own) {
  InSituFunction *function = static_cast<InSituFunction *>(own);
  flush_counts<0>(context, launch, function);
  flush_counts<1>(context, launch, function);
  flush_counts<2>(context, launch, function);
  flush_counts<3>(context, launch, function);
  flush_counts<4>(context, launch, function);
}
