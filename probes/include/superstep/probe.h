// Support code for probe handlers: the context of the launch, and functions that move fields from threads to memory.
//
// This header and a handler become one CUDA file for both backends: the code around them is generated from the probe's
// YAML (build/src/probe/glue.rs). The file is compiled to device IR, linked into the program's IR and inlined. For the
// CPU backend, it is compiled with SUPERSTEP_CPU: the lanes of a warp do not run together there, so warp-level events
// are logged, and the handler is called later for the lanes that reached a place together (docs/probes.md).
#ifndef SUPERSTEP_PROBE_H
#define SUPERSTEP_PROBE_H

namespace superstep {

typedef unsigned int u32;
typedef unsigned long long u64;

// Written by the host for each launch; mirrored by runtime/core/src/probe/layout.rs.
struct Context {
  u64 fields;        // address; word w of unit u is at w * slot_stride + u * unit_stride, in words
  u64 slot_stride;
  u64 unit_stride;
  u64 units;
  u64 tables;        // address; `replicas` copies of all tables
  u64 table_words;   // words in one copy
  u64 parameters;    // address
  u64 launch;        // index of the launch in its stream
  u32 first_slot;    // slot of word 0
  u32 replicas;
};

// How the values of several threads are combined. For Min and And, memory contains the complement, so that zero means
// "nothing yet".
enum Combine { Sum, Min, Max, And, Or };
__device__ constexpr bool is_complemented(Combine c) { return c == Min || c == And; }

__device__ inline const Context *context_of(void *context) { return static_cast<const Context *>(context); }

// Values that are constant during a launch are read through the non-coherent cache, so that one read serves many uses.
// Pointers to global memory are marked as such: an atomic on a generic address waits for its result.
#ifdef SUPERSTEP_CPU
__device__ inline u64 fixed(const u64 &word) { return word; }
__device__ inline u32 fixed(const u32 &word) { return word; }
template <class Word> __device__ inline Word *in_global_memory(u64 address) { return reinterpret_cast<Word *>(address); }
#else
__device__ inline u64 fixed(const u64 &word) { return __ldg(&word); }
__device__ inline u32 fixed(const u32 &word) { return __ldg(&word); }
template <class Word> __device__ inline Word *in_global_memory(u64 address) {
  return (Word *)(__attribute__((address_space(1))) Word *)address;
}
#endif

__device__ inline u32 cta_threads() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ inline u64 cta() { return blockIdx.x + (u64)gridDim.x * (blockIdx.y + (u64)gridDim.y * blockIdx.z); }
__device__ inline u64 thread() {
  return cta() * cta_threads() + threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__device__ inline u32 sm() { return __nvvm_read_ptx_sreg_smid(); }
__device__ inline u32 lane() { return __nvvm_read_ptx_sreg_laneid(); }

// Returns the index of this SM's copy of the per-launch data. There are as many copies as SMs; an SM with a higher
// number shares copy 0.
__device__ inline u32 copy(u32 copies) {
  const u32 own = sm();
  return own < copies ? own : 0;
}

// Returns this SM's copy of the tables. Separate copies keep SMs from waiting for each other.
__device__ inline u64 *tables(void *context) {
  const Context *c = context_of(context);
  return in_global_memory<u64>(fixed(c->tables) + copy(fixed(c->replicas)) * fixed(c->table_words) * 8);
}

template <Combine C> __device__ inline u64 join(u64 left, u64 right) {
  if (C == Sum) return left + right;
  if (C == Min || C == Max) return left > right ? left : right;
  return left | right;
}

#ifndef SUPERSTEP_CPU

// Returns the lanes that execute this call together. If the handler is not inlined, several sites share this code, so
// lanes are grouped by site.
__device__ inline u32 lanes_here(u32 site) {
  const u32 active = __activemask();
  if (__builtin_constant_p(site)) return active;
  int same;
  __match_all_sync(active, site, &same);
  return __builtin_expect(same, 1) ? active : __match_any_sync(active, site);
}

__device__ inline bool leads(u32 mask) { return lane() == (u32)__ffs(mask) - 1; }

template <class Step> __device__ inline u64 over_lanes(u32 mask, u64 value, Step step) {
  u64 total = __shfl_sync(mask, value, __ffs(mask) - 1);
  for (u32 rest = mask & (mask - 1); rest; rest &= rest - 1) total = step(total, __shfl_sync(mask, value, __ffs(rest) - 1));
  return total;
}

__device__ inline u64 and_bits(u32 mask, u64 value, u32 width) {
#if __CUDA_ARCH__ >= 800
  const u64 low = __reduce_and_sync(mask, (u32)value);
  return width <= 32 ? low : (u64)__reduce_and_sync(mask, (u32)(value >> 32)) << 32 | low;
#else
  return over_lanes(mask, value, [](u64 a, u64 b) { return a & b; });
#endif
}

__device__ inline u64 or_bits(u32 mask, u64 value, u32 width) {
#if __CUDA_ARCH__ >= 800
  const u64 low = __reduce_or_sync(mask, (u32)value);
  return width <= 32 ? low : (u64)__reduce_or_sync(mask, (u32)(value >> 32)) << 32 | low;
#else
  return over_lanes(mask, value, [](u64 a, u64 b) { return a | b; });
#endif
}

// Usually, all lanes share a line, or line numbers only rise or only fall from lane to lane, so the changes can be
// counted.
__device__ inline u32 unique_lines(u32 mask, u64 address) {
  const u64 line = address >> 5;
  int same;
  __match_all_sync(mask, line, &same);
  if (same) return 1;
  const u32 below = mask & ((1u << lane()) - 1);
  const u64 before = __shfl_sync(mask, line, below ? 31 - __clz(below) : lane());
  const u32 rises = __ballot_sync(mask, line > before), falls = __ballot_sync(mask, line < before);
  if (falls == 0) return __popc(rises) + 1;
  if (rises == 0) return __popc(falls) + 1;
  return __popc(__ballot_sync(mask, leads(__match_any_sync(mask, line))));
}

// Returns whether `value` would change the word. Reading the word is cheaper than an atomic that changes nothing.
template <Combine C> __device__ inline bool is_news(const u64 *word, u64 value) {
  if (C == Sum) return value != 0;
  const u64 known = *word;
  return join<C>(known, value) != known;
}

template <Combine C> __device__ inline void change(u64 *word, u64 value) {
  if (C == Sum) atomicAdd(word, value);
  else if (C == Min || C == Max) atomicMax(word, value);
  else atomicOr(word, value);
}

// Each lane writes its own value: lanes that diverge before they exit write fields of different places at the same
// time, so a sum over lanes could go to the wrong place. Counts per warp come from one lane anyway. This function is
// not inlined, since a kernel may have hundreds of fields.
template <Combine C> __device__ __attribute__((noinline)) void keep_shared(u64 address, u64 value) {
  u64 *word = in_global_memory<u64>(address);
  if (value != 0 && is_news<C>(word, value)) change<C>(word, value);
}

#else

// The host's description of the lanes that reached a place together; mirrored by runtime/cpu/src/record/probed.rs.
// Values that the place's handler does not accept are not filled in.
struct Group {
  void *context;
  u64 and_bits, or_bits;
  u32 site, point, line, operation, width;
  u32 active_mask, taken_mask, unique_lines;
};

extern "C" __device__ void __superstep_probe_log(u32 site, u32 width, u64 payload);

// A CTA runs on one worker, and each worker has its own unit per launch, so no two threads write to the same word.
template <Combine C> __device__ inline void keep_shared(u64 address, u64 value) {
  u64 *word = in_global_memory<u64>(address);
  *word = join<C>(*word, value);
}

#endif

// `Word` is the field's type; `value` is complemented if memory contains complements.
template <Combine C, class Word> __device__ inline void keep(u64 address, Word value) {
  const Word stored = is_complemented(C) ? (Word)~value : value;
  keep_shared<C>(address, stored);
}

// Writes a thread's own word. A kernel's fields are written once; a device function's fields are written whenever it
// returns.
template <Combine C, class Word> __device__ inline void keep_own(u64 address, Word value, bool once) {
  Word *word = in_global_memory<Word>(address);
  const Word stored = is_complemented(C) ? (Word)~value : value;
  if (stored != 0) *word = once ? stored : (Word)join<C>(*word, stored);
}

} // namespace superstep

#endif
