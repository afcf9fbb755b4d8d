// The cache with the classes of the words that a CTA has loaded in a launch, and with claims on words.
#ifndef SUPERSTEP_IN_SITU_KNOWN_CUH
#define SUPERSTEP_IN_SITU_KNOWN_CUH

#include "in_situ_shadow.cuh"

namespace {

// Returns the part that all rows of a CTA have in common.
__device__ ALWAYS_INLINE uint64_t row_of(unsigned cta, uint64_t launch) {
  return (uint64_t)cta << IN_SITU_KNOWN_CTA_SHIFT | cta >> 26 << 11 | launch % IN_SITU_KNOWN_LAUNCHES << IN_SITU_KNOWN_LAUNCH_SHIFT;
}

// Returns the row of a word, without the byte mask or class.
__device__ ALWAYS_INLINE uint64_t known_row(uint64_t cta_row, uint64_t address) { return cta_row ^ address >> 22 << IN_SITU_KNOWN_ADDRESS_SHIFT; }

// Returns the offset of a word's row. Four consecutive words have consecutive rows.
__device__ ALWAYS_INLINE unsigned known_place(uint64_t cta_row, uint64_t address) {
  const unsigned mixed = ((unsigned)(address >> 22) ^ (unsigned)(cta_row >> 32) * 0x9e3779b1u) * 0x85ebca6bu;
  return (((unsigned)address << 1 ^ mixed >> 8) & (IN_SITU_KNOWN_BYTES - 32)) | ((unsigned)address << 1 & 0x18);
}

// Returns the code of a class: the 1-based position of its counter in InSituFunction, or 5 for input, which has none.
// Code 0 means no class.
__device__ ALWAYS_INLINE constexpr unsigned code_of(unsigned class_id) {
  return class_id == IN_SITU_INPUT ? 5 : class_id == IN_SITU_LOCAL ? 4 : class_id == IN_SITU_UNINITIALISED ? 3 : class_id + 1;
}

#define ANY_BYTES (0xfull << IN_SITU_KNOWN_MASK_SHIFT)

// A word's row in the CTA's cache.
struct Known {
  uint64_t row; // without the byte mask or class
  uint64_t place;

  __device__ ALWAYS_INLINE Known(Me me, uint64_t address) {
    const uint64_t cta_row = row_of((unsigned)(me.now >> IN_SITU_CTA_SHIFT) & IN_SITU_CTA_MASK, me.launch());
    row = known_row(cta_row, address);
    place = reinterpret_cast<uint64_t>(constant(&me.context->known)) + known_place(cta_row, address);
  }
  // Consecutive words, up to the next 16-byte boundary, have consecutive rows.
  __device__ ALWAYS_INLINE void *at(unsigned i) const { return reinterpret_cast<void *>(place + 8 * i); }
};

__device__ ALWAYS_INLINE void keep_known(Known known, unsigned i, unsigned bytes, unsigned code) {
  uint64_t what = bytes << IN_SITU_KNOWN_MASK_SHIFT | code;
  if (bytes != 0xf) {
    // Keeps other bytes of the word that are known to have the same class.
    const uint64_t was = load_known(known.at(i)) ^ known.row;
    if (((was ^ what) & ~ANY_BYTES) == 0) what |= was;
  }
  store_known(known.at(i), known.row ^ what);
}

// Return whether a row is a thread's claim, or whether it says that the claimed work is done.
__device__ ALWAYS_INLINE bool is_claim(uint64_t row) { return row != 0 && (row & ~((uint64_t)0xff << 56 | ANY_BYTES)) == 0; }
__device__ ALWAYS_INLINE bool is_done(uint64_t row) { return row == (ANY_BYTES | code_of(IN_SITU_COMMUNICATED)); }

// Returns a mask of the consecutive words that this thread has to count as received. If multiple threads of the CTA
// load a word at the same time, usually only the last one to claim it counts it, since exchanges at the same address
// wait for each other. If another row has replaced the claim by then, each of the threads counts the word; if the work
// is already done, none of them does. Only the thread that does the work may mark it as done.
template <unsigned words> __device__ ALWAYS_INLINE unsigned claimed(Me me, Known known) {
  if (((unsigned)(me.now >> IN_SITU_CTA_SHIFT) & IN_SITU_CTA_MASK) >= IN_SITU_CLAIMS_BELOW) return (1u << words) - 1;
  const unsigned thread = ((unsigned)me.now & IN_SITU_THREAD_MASK) + 1;
  const uint64_t mine = (uint64_t)(thread & 0xff) << 56 | thread >> 8 << IN_SITU_KNOWN_MASK_SHIFT;
  uint64_t was[words];
  unsigned claims = 0;
#pragma unroll
  for (unsigned i = 0; i < words; ++i) was[i] = load_claim(known.at(i)) ^ known.row;
#pragma unroll
  for (unsigned i = 0; i < words; ++i) {
    if (is_claim(was[i]) || is_done(was[i])) continue;
    claims |= 1u << i;
    store_claim(known.at(i), known.row ^ mine);
  }
#pragma unroll
  for (unsigned i = 0; i < words; ++i)
    if (claims >> i & 1) was[i] = load_claim(known.at(i)) ^ known.row;
#pragma unroll
  for (unsigned i = 0; i < words; ++i)
    if (was[i] != mine && (is_claim(was[i]) || is_done(was[i]))) claims &= ~(1u << i);
  return claims;
}

// Returns the class code of a load's bytes if another load by the CTA has found it in this launch, and 0 otherwise.
template <unsigned width_bytes> __device__ ALWAYS_INLINE unsigned known_class(uint64_t known, uint64_t cta_row, uint64_t address) {
  const uint64_t place = known + known_place(cta_row, address), row = known_row(cta_row, address);
  uint64_t found = load_known(reinterpret_cast<const void *>(place)) ^ row;
  if (width_bytes < 4) {
    const uint64_t bytes = (uint64_t)((1u << width_bytes) - 1) << IN_SITU_KNOWN_MASK_SHIFT << ((unsigned)address & 3);
    found = (found & bytes) == bytes ? found & ~ANY_BYTES : 0;
  } else {
    found ^= ANY_BYTES;
  }
  bool is_known = found >> 32 == 0 && (unsigned)found - 1 < 5;
  // A thread claims a word only after finding that the word is communicated.
  if (width_bytes == 4 && __builtin_expect(!is_known, 0)) return cta_row >> 56 == 0 && is_claim(found ^ ANY_BYTES) ? code_of(IN_SITU_COMMUNICATED) : 0;
#pragma unroll
  for (unsigned i = 1; i < 4; ++i)
    if (4 * i < width_bytes) is_known = is_known && (load_known(reinterpret_cast<const void *>(place + 8 * i)) ^ row ^ ANY_BYTES) == found;
  return is_known ? (unsigned)found : 0;
}

} // namespace

#endif
