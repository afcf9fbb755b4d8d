// The handler of the protocol `in-situ`: classifies each access with the shadow of what it touches, and adds it up. Nothing is recorded.
// docs/capture/in-situ.md has the rules, in_situ.h those of one entry.
//
// No lane works together with others here: where the lanes of a warp are apart, `__match_any_sync` and its like wait, take as long as an
// atomic operation if the values differ, and let groups of lanes run one after the other. Hardware makes one of additions to the same place.

#include "in_situ_words.cuh"
#include "selection.h"

namespace {

// An access to any bytes, lane by lane.
__device__ __attribute__((noinline)) void access_bytes(Me me, unsigned operation, uint64_t address, unsigned width_bytes) {
  const uint64_t end = address + width_bytes;
  bool counts = true;
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
        if (found != IN_SITU_LOCAL && is_perhaps_local(me, e)) add(me.sums() + IN_SITU_PERHAPS_LOCAL, amount);
        if (found == IN_SITU_COMMUNICATED) {
          communicated(me, at, e, word, own_bytes, parts == nullptr ? bytes : 1, counts);
          counts = false;
        }
      }
      if (operation != IN_SITU_LOAD) write(me, at, e, __popc(own_bytes), operation == IN_SITU_STORE);
    }
  }
}

// Counts an access.
__device__ inline void count(Me me, unsigned operation, unsigned width_log2, unsigned of_class) {
  add(me.sums() + IN_SITU_THREADS + (operation * IN_SITU_WIDTHS + width_log2) * 8 + of_class, 1);
}

// Of the lanes in `mask`, which come together, the first counts how many are missing: groups follow from these and from the threads.
__device__ ALWAYS_INLINE bool counts_missing(unsigned mask) {
  return mask != 0xffffffffu && lane_number() == (unsigned)__ffs(mask) - 1;
}

// What a first look at an access finds, which holds: later, words may have been split.
struct Look {
  bool is_simple; // whole words, or a load from one, none split, and all of one class
  unsigned words, of_class;
  unsigned bytes; // of each word
  Entry *place;
  Entry entries[4];
};

// 16 bytes, aligned, never cross the border of a block.
__device__ inline Look look(Me me, unsigned operation, uint64_t address, unsigned width_bytes) {
  Look found;
  found.words = width_bytes >= 4 ? width_bytes / 4 : 1;
  found.bytes = width_bytes >= 4 ? 0xf : ((1u << width_bytes) - 1) << (address & 3);
  found.of_class = IN_SITU_NONE;
  found.is_simple = false;
  if ((width_bytes < 4 && operation != IN_SITU_LOAD) || (address & (width_bytes - 1)) != 0) return found;
  found.place = entry_of(me, address, operation != IN_SITU_LOAD);
  if (found.place == nullptr) return found;
  bool is_simple = true;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
    if (i < found.words) found.entries[i] = load(found.place + i);
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
    if (i < found.words) is_simple = is_simple && !is_split(found.entries[i]);
  if (is_simple && operation != IN_SITU_STORE) {
    const unsigned of_class = class_of(me, found.entries[0]);
#pragma unroll
    for (unsigned i = 1; i < 4; ++i)
      if (i < found.words) is_simple = is_simple && class_of(me, found.entries[i]) == of_class;
    if (is_simple) found.of_class = of_class;
  }
  found.is_simple = is_simple;
  return found;
}

// A word of a load that is simple. Answers whether all is known of what it received.
__device__ inline bool load_word(Me me, const Look &found, unsigned i, uint64_t address) {
  const Entry e = found.entries[i];
  if (found.of_class != IN_SITU_LOCAL && is_perhaps_local(me, e)) add(me.sums() + IN_SITU_PERHAPS_LOCAL, __popc(found.bytes));
  if (found.of_class != IN_SITU_COMMUNICATED) return true;
  return communicated(me, found.place + i, e, (address & ~(uint64_t)3) + 4 * i, found.bytes, found.bytes, i == 0);
}

__device__ inline void store_word(Me me, const Look &found, unsigned i, bool plain) {
  const Entry e = found.entries[i];
  // Nothing new where the thread itself was the first to write, and has stored before if it stores now.
  if (((e.now ^ me.now) & ~IN_SITU_PLAIN) == 0 && (!plain || e.now & IN_SITU_PLAIN)) return;
  write(me, found.place + i, e, 4, plain);
}

// An access whose lanes are counted one by one.
__device__ inline void access(Me me, unsigned operation, uint64_t address, unsigned width_bytes) {
  const unsigned width_log2 = width_bytes < 2 ? 0 : width_bytes < 4 ? 1 : width_bytes < 8 ? 2 : width_bytes < 16 ? 3 : 4;
  if (width_bytes != 1u << width_log2) {
    add(me.sums() + IN_SITU_ODD_THREADS + operation, 1);
    add(me.sums() + IN_SITU_ODD_BYTES + operation, width_bytes);
    return access_bytes(me, operation, address, width_bytes);
  }
  const Look found = look(me, operation, address, width_bytes);
  count(me, operation, width_log2, found.of_class);
  if (!found.is_simple) return access_bytes(me, operation, address, width_bytes);
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    if (i >= found.words) break;
    if (operation != IN_SITU_STORE) load_word(me, found, i, address);
    if (operation != IN_SITU_LOAD) store_word(me, found, i, operation == IN_SITU_STORE);
  }
}

__device__ __attribute__((noinline)) bool is_left_out_by(const void *context, ulong64 launch) {
  return superstep_leaves_out(launch, static_cast<const InSituContext *>(context)->selection);
}

// Whether the accesses of the CTA are not to be added up.
__device__ inline bool is_left_out(const void *context, ulong64 launch) { return launch >> 62 && is_left_out_by(context, launch); }

// What rows of a CTA have in common.
__device__ ALWAYS_INLINE uint64_t row_of(unsigned cta, uint64_t launch) {
  return (uint64_t)cta << 39 | cta >> 25 << 8 | launch % IN_SITU_KNOWN_LAUNCHES << 2;
}

// The row of a word, without its class.
__device__ ALWAYS_INLINE uint64_t known_row(uint64_t of_cta, uint64_t address) { return of_cta ^ address >> 22 << 12; }

// Where it lies. Four words in a row have rows in a row.
__device__ ALWAYS_INLINE unsigned known_place(uint64_t of_cta, uint64_t address) {
  const unsigned mixed = ((unsigned)(address >> 22) ^ (unsigned)(of_cta >> 32) * 0x9e3779b1u) * 0x85ebca6bu;
  return (((unsigned)address << 1 ^ mixed >> 8) & (IN_SITU_KNOWN_BYTES - 32)) | ((unsigned)address << 1 & 0x18);
}

// The class of a load's bytes, IN_SITU_KNOWN_*, that another load of the CTA has found in this launch; 0 where that is not known.
template <unsigned width_bytes> __device__ ALWAYS_INLINE unsigned known_class(const InSituFunction *function, uint64_t address) {
  const uint64_t place = function->known + known_place(function->row, address), row = known_row(function->row, address);
  const uint64_t code = load_known(reinterpret_cast<const void *>(place)) ^ row;
  bool is_known = code - 1 < 3;
#pragma unroll
  for (unsigned i = 1; i < 4; ++i)
    if (4 * i < width_bytes) is_known = is_known && (load_known(reinterpret_cast<const void *>(place + 8 * i)) ^ row) == code;
  return is_known ? (unsigned)code : 0;
}

template <unsigned width_bytes> __device__ inline void keep_known(Me me, uint64_t address, unsigned code) {
  const uint64_t of_cta = row_of((unsigned)(me.now >> IN_SITU_CTA_SHIFT) & IN_SITU_CTA_MASK, me.launch());
  const uint64_t place = reinterpret_cast<uint64_t>(constant(&me.context->known)) + known_place(of_cta, address);
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
    if (4 * i < width_bytes) store_known(reinterpret_cast<void *>(place + 8 * i), known_row(of_cta, address) | code);
}

// Answers of `load_of` beside IN_SITU_KNOWN_*.
#define COUNTED 0
#define LOCAL 4

// A load of whose class nothing is known. Answers what it is to be counted as.
template <unsigned width_bytes> __device__ __attribute__((noinline)) unsigned load_of(const void *context, ulong64 launch, uint64_t address) {
  if (is_left_out(context, launch)) return COUNTED;
  const Me me(context, launch);
  const Look found = look(me, IN_SITU_LOAD, address, width_bytes);
  if (found.of_class == IN_SITU_LOCAL) return LOCAL;
  unsigned code = COUNTED;
  if (found.of_class == IN_SITU_INPUT) code = IN_SITU_KNOWN_INPUT;
  if (found.of_class == IN_SITU_OWN) code = IN_SITU_KNOWN_OWN;
  if (found.of_class == IN_SITU_COMMUNICATED) code = IN_SITU_KNOWN_COMMUNICATED;
  bool is_known = code != COUNTED && width_bytes >= 4;
  if (code == COUNTED)
    count(me, IN_SITU_LOAD, width_bytes == 1 ? 0 : width_bytes == 2 ? 1 : width_bytes == 4 ? 2 : width_bytes == 8 ? 3 : 4, found.of_class);
  if (!found.is_simple) {
    access_bytes(me, IN_SITU_LOAD, address, width_bytes);
    return COUNTED;
  }
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
    if (i < found.words) is_known &= load_word(me, found, i, address);
  if (is_known) keep_known<width_bytes>(me, address, code);
  return code;
}

__device__ inline unsigned operation_of(unsigned site) {
  const unsigned code = site >> 28;
  return code == 1 ? IN_SITU_LOAD : code == 2 ? IN_SITU_STORE : IN_SITU_ATOMIC;
}

// Each kind of access is a function of its own: inlined at every site, they would be most of a kernel, and ptxas would take minutes.
template <unsigned width_bytes> __device__ __attribute__((noinline)) void store_of(const void *context, ulong64 launch, uint64_t address) {
  if (is_left_out(context, launch)) return;
  const Me me(context, launch);
  const Look found = look(me, IN_SITU_STORE, address, width_bytes);
  if (!found.is_simple) return access_bytes(me, IN_SITU_STORE, address, width_bytes);
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
    if (i < found.words) store_word(me, found, i, true);
}

// Counts the lanes that come together as an access group.
__device__ inline void count_group(Me me, unsigned operation) {
  const unsigned mask = __activemask();
  if (counts_missing(mask)) add(me.sums() + IN_SITU_MISSING + operation, 32 - __popc(mask));
}

template <unsigned width_bytes> __device__ __attribute__((noinline)) void atomic_of(const void *context, ulong64 launch, uint64_t address) {
  if (is_left_out(context, launch)) return;
  const Me me(context, launch);
  count_group(me, IN_SITU_ATOMIC);
  access(me, IN_SITU_ATOMIC, address, width_bytes);
}

// Accesses of other widths, and such whose sites or widths may differ from lane to lane.
__device__ __attribute__((noinline)) void access_any(const void *context, ulong64 launch, unsigned operation, uint64_t address,
                                                     unsigned width_bytes) {
  if (is_left_out(context, launch)) return;
  const Me me(context, launch);
  count_group(me, operation);
  access(me, operation, address, width_bytes);
}

__device__ ALWAYS_INLINE void count_missing(const void *context, ulong64 launch, unsigned *missing, unsigned operation, unsigned mask) {
  *missing += 32 - __popc(mask);
  if (*missing < 1u << 31) return;
  if (!is_left_out(context, launch)) add(sums_of(static_cast<const InSituContext *>(context), launch) + IN_SITU_MISSING + operation, *missing);
  *missing = 0;
}

// Most loads end here: in lines that only the host has written, or with what the CTA knows.
template <unsigned width_log2>
__device__ ALWAYS_INLINE void load_at(const void *context, ulong64 launch, uint64_t address, InSituFunction *function) {
  constexpr unsigned width_bytes = 1u << width_log2;
  auto &loads = function->loads[width_log2];
  const unsigned mask = __activemask();
  if (counts_missing(mask)) count_missing(context, launch, &function->missing[IN_SITU_LOAD], IN_SITU_LOAD, mask);
  loads.all += 1;
  const unsigned number = (unsigned)(address >> IN_SITU_BLOCK_SHIFT);
  const ulonglong2 block = load_block(reinterpret_cast<const InSituBlock *>(function->blocks) + (number & function->block_mask));
  unsigned code = 0;
  if ((((unsigned)address & (width_bytes - 1)) | ((unsigned)block.x ^ number)) == 0) {
    const unsigned stored_in = load_line(line_place(block.y, address));
    if (stored_in == 0) return;
    // Where the present launch has stored, the thread itself may have.
    if ((int)stored_in < (int)function->launch) code = known_class<width_bytes>(function, address);
  }
  if (__builtin_expect(code == 0, 0)) {
    code = load_of<width_bytes>(context, launch, address);
    loads.all -= code == COUNTED;
    loads.local += code == LOCAL;
  }
  loads.communicated += code == IN_SITU_KNOWN_COMMUNICATED;
  loads.own += code == IN_SITU_KNOWN_OWN;
}

template <unsigned width_log2>
__device__ ALWAYS_INLINE void store_at(const void *context, ulong64 launch, uint64_t address, InSituFunction *function) {
  const unsigned mask = __activemask();
  if (counts_missing(mask)) count_missing(context, launch, &function->missing[IN_SITU_STORE], IN_SITU_STORE, mask);
  function->stores[width_log2] += 1;
  store_of<1u << width_log2>(context, launch, address);
}

// An access of a width that is known when the kernel is compiled.
template <unsigned width_log2>
__device__ ALWAYS_INLINE void access_at(const void *context, ulong64 launch, unsigned operation, uint64_t address, InSituFunction *function) {
  if (operation == IN_SITU_LOAD) return load_at<width_log2>(context, launch, address, function);
  if (operation == IN_SITU_STORE) return store_at<width_log2>(context, launch, address, function);
  atomic_of<1u << width_log2>(context, launch, address);
}

// `is_constant`: site and width are constants here.
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

__device__ ALWAYS_INLINE void hand_over(uint64_t *sum, uint64_t *counted) {
  if (*counted != 0) add(sum, *counted);
  *counted = 0;
}

template <unsigned width_log2> __device__ ALWAYS_INLINE void hand_over_width(uint64_t *sums, InSituFunction *function) {
  auto &loads = function->loads[width_log2];
  uint64_t *classes = sums + IN_SITU_THREADS + width_log2 * 8;
  if (loads.all != 0) {
    loads.all -= loads.communicated + loads.own + loads.local;
    hand_over(classes + IN_SITU_INPUT, &loads.all);
    hand_over(classes + IN_SITU_COMMUNICATED, &loads.communicated);
    hand_over(classes + IN_SITU_OWN, &loads.own);
    hand_over(classes + IN_SITU_LOCAL, &loads.local);
  }
  hand_over(classes + IN_SITU_STORE * IN_SITU_WIDTHS * 8 + IN_SITU_NONE, &function->stores[width_log2]);
}

} // namespace

static_assert(sizeof(InSituFunction) == 30 * sizeof(uint64_t), "so many words the instrumenter keeps for it: OWN_WORDS in instrument/src/probe.rs");

// A function that has accesses begins: `own` is its own place, in which it counts.
extern "C" __device__ __attribute__((always_inline)) void __superstep_probe_begin(void *of, unsigned long long launch, void *own) {
  const InSituContext *context = static_cast<const InSituContext *>(of);
  InSituFunction *function = static_cast<InSituFunction *>(own);
  const unsigned cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  *function = {};
  function->launch = (unsigned)launch & ((1u << IN_SITU_LAUNCH_BITS) - 1);
  function->row = row_of(cta, function->launch);
  function->blocks = reinterpret_cast<uint64_t>(constant(&context->blocks));
  function->known = reinterpret_cast<uint64_t>(constant(&context->known));
  function->block_mask = (unsigned)constant(&context->block_mask);
}

extern "C" __device__ __attribute__((always_inline)) void
__superstep_probe_access(void *context, unsigned long long launch, unsigned site, void *address, unsigned width_bytes, void *own) {
  access_from(context, launch, site, address, width_bytes, own, __builtin_constant_p(site) && __builtin_constant_p(width_bytes));
}

// The function may end, or go on.
extern "C" __device__ __attribute__((always_inline)) void __superstep_probe_end(void *context, unsigned long long launch, void *own) {
  InSituFunction *function = static_cast<InSituFunction *>(own);
  if (is_left_out(context, launch)) return;
  uint64_t *sums = sums_of(static_cast<const InSituContext *>(context), launch);
  hand_over_width<0>(sums, function);
  hand_over_width<1>(sums, function);
  hand_over_width<2>(sums, function);
  hand_over_width<3>(sums, function);
  hand_over_width<4>(sums, function);
#pragma unroll
  for (unsigned operation = IN_SITU_LOAD; operation <= IN_SITU_STORE; ++operation) {
    if (function->missing[operation] != 0) add(sums + IN_SITU_MISSING + operation, function->missing[operation]);
    function->missing[operation] = 0;
  }
}
