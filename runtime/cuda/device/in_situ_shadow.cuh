// Shadow-memory access, thread identification and byte classification for the handler of the `in-situ` protocol.
#ifndef SUPERSTEP_IN_SITU_SHADOW_CUH
#define SUPERSTEP_IN_SITU_SHADOW_CUH

#include "in_situ.h"

#if !defined(SUPERSTEP_ON_HOST) && __CUDA_ARCH__ < 900
#error "the in-situ protocol requires atomic 16-byte exchanges, which sm_90 introduced; build for sm_90 or newer (--gpu-arch)"
#endif

#define ALWAYS_INLINE __attribute__((always_inline)) inline

namespace {

typedef InSituEntry Entry;
typedef unsigned long long ulong64;

// A test (src/recorder/in_situ/tests/on_host.cpp) runs the rules below on the host, with its own versions of these
// functions.
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

// Bypasses the L1 cache, which other SMs' exchanges do not update.
__device__ inline Entry load(const void *place) {
  Entry e;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(e.before), "=l"(e.now) : "l"(place) : "memory");
  return e;
}

// May load from the L1 cache. Suitable for words that only exchanges change and to which a launch only adds bits: a
// stale value merely causes a failed exchange.
__device__ inline Entry load_cached(const void *place) {
  Entry e;
  asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(e.before), "=l"(e.now) : "l"(place) : "memory");
  return e;
}

// Loads through the L1 cache, where a thread sees its own stores and those of other threads in its CTA.
__device__ inline unsigned load_line(uint64_t place) {
  unsigned line;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(line) : "l"(place) : "memory");
  return line;
}

// Loads the first two fields of an InSituBlock, which no kernel changes.
__device__ inline ulonglong2 load_block(const InSituBlock *place) {
  ulonglong2 block;
  asm("ld.global.nc.v2.u64 {%0, %1}, [%2];" : "=l"(block.x), "=l"(block.y) : "l"(place));
  return block;
}

__device__ inline void store_line(uint64_t place, unsigned line) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(place), "r"(line) : "memory");
}

__device__ inline uint64_t load_known(const void *place) {
  uint64_t row;
  asm volatile("ld.global.u64 %0, [%1];" : "=l"(row) : "l"(place) : "memory");
  return row;
}

__device__ inline void store_known(void *place, uint64_t row) {
  asm volatile("st.global.u64 [%0], %1;" ::"l"(place), "l"(row) : "memory");
}

// Loads the last value that a thread of the CTA stored. After a plain store, ptxas would replace a plain load with the
// stored value.
__device__ inline uint64_t load_claim(const void *place) {
  uint64_t row;
  asm volatile("ld.relaxed.cta.global.u64 %0, [%1];" : "=l"(row) : "l"(place) : "memory");
  return row;
}

__device__ inline void store_claim(void *place, uint64_t row) {
  asm volatile("st.relaxed.cta.global.u64 [%0], %1;" ::"l"(place), "l"(row) : "memory");
}

// Replaces `old` with `next`; returns the previous value.
#define EXCHANGE(order)                                                                                                                  \
  Entry was;                                                                                                                             \
  asm volatile("{\n"                                                                                                                     \
               ".reg .b128 o, n, w;\n"                                                                                                   \
               "mov.b128 o, {%2, %3};\n"                                                                                                 \
               "mov.b128 n, {%4, %5};\n"                                                                                                 \
               "atom." order ".gpu.global.cas.b128 w, [%6], o, n;\n"                                                                     \
               "mov.b128 {%0, %1}, w;\n"                                                                                                 \
               "}"                                                                                                                       \
               : "=l"(was.before), "=l"(was.now)                                                                                         \
               : "l"(old.before), "l"(old.now), "l"(next.before), "l"(next.now), "l"(place)                                              \
               : "memory");                                                                                                              \
  return was

__device__ inline Entry exchange(void *place, Entry old, Entry next) { EXCHANGE("relaxed"); }

// Like `exchange`, for a `next` that points to memory that the thread has just written. Used instead of a fence, since
// in a module with a fence, ptxas would make each of the program's atomic operations wait for its unused result.
__device__ inline Entry exchange_released(void *place, Entry old, Entry next) { EXCHANGE("release"); }

// Shifts bits to the left; the result is 0 for a shift by more than 31.
__device__ ALWAYS_INLINE unsigned shifted(unsigned bits, unsigned by) {
  unsigned result;
  asm("shl.b32 %0, %1, %2;" : "=r"(result) : "r"(bits), "r"(by));
  return result;
}

// Sets bits of an entry's `before`; returns its old value.
__device__ inline uint64_t set_bits(Entry *place, uint64_t bits) {
  uint64_t was;
  asm volatile("atom.relaxed.gpu.global.or.b64 %0, [%1], %2;" : "=l"(was) : "l"(&place->before), "l"(bits) : "memory");
  return was;
}

__device__ inline void add(uint64_t *word, uint64_t value) {
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(word), "l"((ulong64)value) : "memory");
}

// Blocks until a counter that the host increases exceeds `number`.
__device__ inline void wait_until_above(const uint64_t *counter, uint64_t number) {
  uint64_t value;
  for (;;) {
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(counter) : "memory");
    if (value > number) return;
    __nanosleep(1000);
  }
}

// Stores to the host's memory.
__device__ inline void store_to_host(void *place, uint64_t first, uint64_t second) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(place), "l"(first), "l"(second) : "memory");
}
#endif

__device__ ALWAYS_INLINE bool is_first_of(unsigned mask) { return lane_number() == (unsigned)__ffs(mask) - 1; }

// Adds a value to a word; value and word are the same for all lanes. Lanes that are active together perform a single
// addition, since the GPU performs 64-bit additions to the same address lane by lane.
__device__ ALWAYS_INLINE void add_same(uint64_t *word, unsigned value) {
  const unsigned mask = __activemask();
  if (is_first_of(mask)) add(word, (uint64_t)value * __popc(mask));
}

__device__ inline bool equal(Entry a, Entry b) { return a.before == b.before && a.now == b.now; }

// Hides a rarely called function behind a pointer. ptxas cannot follow it, so the callee saves the registers that it
// needs; otherwise, ptxas would keep registers free for it in each kernel.
template <class F> __device__ ALWAYS_INLINE F *out_of_line(F *function) {
  F *volatile hidden = function;
  return hidden;
}

// Loads a field of the context, which no kernel changes.
template <class T> __device__ inline T constant(T const *field) {
  static_assert(sizeof(T) == 8, "fields are 64-bit words");
  return (T)__ldg(reinterpret_cast<const ulong64 *>(field));
}

// Returns the copy of the launch's sums to which this SM adds.
__device__ inline uint64_t *sums_of(const InSituContext *context, ulong64 parameter) {
  const unsigned slot = (unsigned)(parameter >> IN_SITU_SLOT_SHIFT) & IN_SITU_SLOT_MASK;
  return constant(&context->sums) + (slot * IN_SITU_COPIES + sm_number() % IN_SITU_COPIES) * IN_SITU_SUMS;
}

__device__ ALWAYS_INLINE unsigned cta_number() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

// The thread's launch, CTA and index, in the format of `now`.
struct Me {
  const InSituContext *context;
  ulong64 parameter;
  uint64_t now;

  __device__ ALWAYS_INLINE Me(const InSituContext *context, ulong64 parameter, uint64_t now) : context(context), parameter(parameter), now(now) {}
  __device__ ALWAYS_INLINE Me(const void *raw_context, ulong64 parameter)
      : context(static_cast<const InSituContext *>(raw_context)), parameter(parameter) {
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    now = parameter << IN_SITU_LAUNCH_SHIFT | (uint64_t)cta_number() << IN_SITU_CTA_SHIFT | thread;
  }
  __device__ uint64_t launch() const { return now >> IN_SITU_LAUNCH_SHIFT; }
  __device__ uint64_t cta() const { return now & ~(uint64_t)0x7ff; }
  __device__ uint64_t *sums() const { return sums_of(context, parameter); }
};

// Returns the address of the launch number of the line that contains `address`.
__device__ ALWAYS_INLINE uint64_t line_place(uint64_t lines, uint64_t address) {
  return lines + ((unsigned)address >> IN_SITU_LINE_SHIFT & ((1u << (IN_SITU_BLOCK_SHIFT - IN_SITU_LINE_SHIFT)) - 1)) * 4;
}

// Returns a word's entry in the shadow of its block.
__device__ ALWAYS_INLINE Entry *entry_in(const InSituBlock *block, uint64_t address) {
  return reinterpret_cast<Entry *>(constant(&block->shadow)) + ((unsigned)address >> 2 & ((1u << (IN_SITU_BLOCK_SHIFT - 2)) - 1));
}

// Returns the shadow entry of the word at `address`, or null if there is none. For a store, first records this launch
// for the line, so that the thread's own loads do not miss it.
__device__ inline Entry *entry_of(Me me, uint64_t address, bool stores) {
  const uint64_t number = address >> IN_SITU_BLOCK_SHIFT;
  const InSituContext *context = me.context;
  const InSituBlock *block = constant(&context->blocks) + (number & constant(&context->block_mask));
  const ulonglong2 found = load_block(block);
  if (found.x != number) return nullptr;
  if (stores) store_line(line_place(found.y, address), (unsigned)me.launch());
  return entry_in(block, address);
}

// Returns whether this thread was the first to write the entry in this launch.
__device__ ALWAYS_INLINE bool is_own(Me me, Entry e) { return ((e.now ^ me.now) & ~IN_SITU_PLAIN) == 0; }

// Returns the class of the bytes whose entry is `e`.
__device__ ALWAYS_INLINE unsigned class_of(Me me, Entry e) {
  if (is_own(me, e)) return IN_SITU_LOCAL;
  const bool is_past = in_situ_is_past(e, me.launch());
  const uint64_t source = is_past ? e.now : e.before;
  if (!is_past) {
    if (source >> 6 == 0) return IN_SITU_INPUT;
    if (source & IN_SITU_SPECIAL) return source >> 60 == 0xe ? IN_SITU_UNKNOWN : IN_SITU_UNINITIALISED;
  }
  const bool same_cta = ((unsigned)((source ^ me.now) >> IN_SITU_CTA_SHIFT) & IN_SITU_CTA_MASK) == 0;
  if (same_cta && (e.before & (is_past ? IN_SITU_NOW_SEVERAL : IN_SITU_BEFORE_SEVERAL)) == 0) {
    const uint32_t *kernels = constant(&me.context->kernels);
    if (__ldg(kernels + (source >> IN_SITU_LAUNCH_SHIFT)) == __ldg(kernels + me.launch())) return IN_SITU_OWN;
  }
  return IN_SITU_COMMUNICATED;
}

// Returns whether the writer of the bytes with entry `index` differs from those of all entries before it.
__device__ ALWAYS_INLINE bool is_new_source(Me me, const Entry *entries, unsigned index) {
  const uint64_t source = in_situ_source(entries[index], me.launch());
  bool is_new = true;
#pragma unroll
  for (unsigned i = 0; i < 3; ++i)
    if (i < index) is_new = is_new && (in_situ_source(entries[i], me.launch()) ^ source) >> IN_SITU_CTA_SHIFT != 0;
  return is_new;
}

// Counts `bytes` bytes that a thread loads, if another CTA has stored them in this launch.
__device__ ALWAYS_INLINE void count_within_launch(Me me, Entry e, unsigned bytes) {
  if (__builtin_expect(in_situ_is_of_another_cta(e, me.now), 0)) add(me.sums() + IN_SITU_WITHIN_LAUNCH, bytes);
}

// Returns whether bytes that are not counted as local may be local.
__device__ ALWAYS_INLINE bool is_perhaps_local(Me me, Entry e) {
  return (e.before & IN_SITU_SEVERAL_THREADS) && (unsigned)(e.now >> IN_SITU_LAUNCH_SHIFT) == (unsigned)me.launch() &&
         e.before != IN_SITU_UNWRITTEN;
}

} // namespace

#endif
