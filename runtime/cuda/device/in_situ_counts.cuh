// Counts accesses: each function counts in registers and adds its counts to the launch's sums when it returns.
#ifndef SUPERSTEP_IN_SITU_COUNTS_CUH
#define SUPERSTEP_IN_SITU_COUNTS_CUH

#include "in_situ_known.cuh"
#include "selection.h"

namespace {

// Returns the sum in which an access is counted.
__device__ ALWAYS_INLINE uint64_t *threads_of(Me me, unsigned operation, unsigned width_log2, unsigned class_id) {
  return me.sums() + IN_SITU_THREADS + (operation * IN_SITU_WIDTHS + width_log2) * 8 + class_id;
}

__device__ __attribute__((noinline)) bool is_left_out_by(const void *context, ulong64 launch) {
  return superstep_leaves_out(launch, static_cast<const InSituContext *>(context)->selection);
}

// Returns whether the CTA's accesses are excluded.
__device__ inline bool is_left_out(const void *context, ulong64 launch) { return launch >> 62 && is_left_out_by(context, launch); }

// Counts the currently active lanes as an access group.
__device__ inline void count_group(Me me, unsigned operation) {
  const unsigned mask = __activemask();
  if (mask != 0xffffffffu && is_first_of(mask)) add(me.sums() + IN_SITU_MISSING + operation, 32 - __popc(mask));
}

// Counts an access group of atomic operations with inactive lanes.
__device__ __attribute__((noinline)) void atomics_apart(const void *context, ulong64 launch) {
  if (!is_left_out(context, launch)) count_group(Me(context, launch), IN_SITU_ATOMIC);
}

// Counts an access group with inactive lanes, in its first active lane. Not inlined, since ptxas would otherwise read
// the lane number even if no lane is inactive.
__device__ __attribute__((noinline)) unsigned group_apart(unsigned mask) { return is_first_of(mask) ? 1u << 20 | __popc(mask) : 0; }

// Adds a lane's counts for its warp: accesses by all lanes together, and access groups with inactive lanes.
__device__ __attribute__((noinline)) void add_threads(const void *context, ulong64 launch, unsigned operation, unsigned width_log2,
                                                      unsigned together, unsigned apart) {
  if (is_left_out(context, launch)) return;
  const Me me(context, launch);
  const unsigned threads = apart & 0xfffff, missing = (apart >> 20) * 32 - threads;
  const uint64_t all = (lane_number() == 0 ? (uint64_t)32 * together : 0) + threads;
  if (all != 0) add(threads_of(me, operation, width_log2, operation == IN_SITU_LOAD ? IN_SITU_INPUT : IN_SITU_NONE), all);
  if (missing != 0) add(me.sums() + IN_SITU_MISSING + operation, missing);
}

// Adds a lane's counts of settled atomic operations: `together`, `apart`, and its own local operations.
__device__ __attribute__((noinline)) void add_settled(const void *context, ulong64 launch, unsigned width_log2, unsigned together,
                                                      unsigned apart, unsigned local) {
  if (is_left_out(context, launch)) return;
  const Me me(context, launch);
  const uint64_t all = (lane_number() == 0 ? (uint64_t)32 * together : 0) + (apart & 0xfffff);
  if (all != 0) add(threads_of(me, IN_SITU_ATOMIC, width_log2, IN_SITU_INPUT), all);
  if (local != 0) add(threads_of(me, IN_SITU_ATOMIC, width_log2, IN_SITU_LOCAL), local);
  // The difference is negative if another lane counts for this one; the sum over all lanes is not.
  if (all != local) add(me.sums() + IN_SITU_PERHAPS_LOCAL, (all - local) << width_log2);
}

// Counts an access. If all lanes of a warp are active, each counts it, and the first one later adds it for all. Returns
// whether a counter is full.
__device__ ALWAYS_INLINE bool count(unsigned &together, unsigned &apart) {
  const unsigned mask = __activemask();
  together += 1;
  if (__builtin_expect(mask == 0xffffffffu && (int)together >= 0, 1)) return false;
  if (mask != 0xffffffffu) {
    together -= 1;
    apart += group_apart(mask);
  }
  return __builtin_expect((int)(together | apart) < 0, 0);
}

template <unsigned operation, unsigned width_log2>
__device__ ALWAYS_INLINE void count_threads(const void *context, ulong64 launch, unsigned &together, unsigned &apart) {
  if (!count(together, apart)) return;
  add_threads(context, launch, operation, width_log2, together, apart);
  together = apart = 0;
}

// Adds a function's per-class counts of loads of a width to the launch's sums.
__device__ __attribute__((noinline)) void add_classes(const void *context, ulong64 launch, unsigned width_log2, unsigned by_class) {
  if (is_left_out(context, launch)) return;
  uint64_t *sums = sums_of(static_cast<const InSituContext *>(context), launch) + IN_SITU_THREADS + width_log2 * 8;
#pragma unroll
  for (unsigned class_id = 0; class_id < IN_SITU_NONE; ++class_id) {
    if (class_id == IN_SITU_INPUT || class_id == IN_SITU_UNKNOWN || class_id > IN_SITU_LOCAL) continue;
    const unsigned counted = by_class >> 8 * (code_of(class_id) - 1) & 0xff;
    if (counted != 0) add(sums + class_id, counted);
  }
}

template <unsigned width_log2> __device__ ALWAYS_INLINE void flush_counts(const void *context, ulong64 launch, InSituFunction *function) {
  auto &counted = function->widths[width_log2];
  if (counted.by_class != 0) add_classes(context, launch, width_log2, counted.by_class);
  if ((counted.loads | counted.loads_apart) != 0)
    add_threads(context, launch, IN_SITU_LOAD, width_log2, counted.loads, counted.loads_apart);
  if ((counted.stores | counted.stores_apart) != 0)
    add_threads(context, launch, IN_SITU_STORE, width_log2, counted.stores, counted.stores_apart);
  if ((counted.settled | counted.settled_apart | counted.local) != 0)
    add_settled(context, launch, width_log2, counted.settled, counted.settled_apart, counted.local);
  counted = {};
}

} // namespace

#endif
