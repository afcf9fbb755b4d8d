/* Selects which accesses of a launch to record or count. Bits 62 and 63 of a kernel's second trailing parameter tell
 * the kernel what to check; usually, both are 0. `superstep_takes_cta` is the C version of trace/src/selection/; a test
 * compares the two. */
#ifndef SUPERSTEP_SELECTION_H
#define SUPERSTEP_SELECTION_H

#include <stdint.h>

#define SUPERSTEP_LAUNCH_SKIPPED (1ull << 63)  /* records nothing from the launch */
#define SUPERSTEP_LAUNCH_BY_CTA (1ull << 62)   /* records only CTAs in the selection */

/* Grids of up to this size are recorded in full; for larger grids, at least about this many CTAs are recorded. */
#define SUPERSTEP_SAMPLE_AT_LEAST 8

#ifdef __CUDA__
#define SUPERSTEP_ON_DEVICE __device__
#else
#define SUPERSTEP_ON_DEVICE
#endif

SUPERSTEP_ON_DEVICE static inline uint64_t superstep_mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

/* `words`: seed; accepted hashes out of 2^32; number of ranges (0: all CTAs); first and last CTA of each range. */
SUPERSTEP_ON_DEVICE static inline int superstep_takes_cta(const uint64_t *words, uint64_t ctas, uint64_t cta) {
  const uint64_t ranges = words[2];
  int inside = ranges == 0;
  for (uint64_t i = 0; i < ranges && !inside; ++i) inside = words[3 + 2 * i] <= cta && cta <= words[4 + 2 * i];
  if (!inside) return 0;
  if (ctas <= SUPERSTEP_SAMPLE_AT_LEAST) return 1;
  const uint64_t hash = superstep_mix(superstep_mix(words[0] ^ ctas) + cta) >> 32;
  /* The second condition is hash < (AT_LEAST << 32) / ctas without a division, which would cost kernels registers. */
  return hash < words[1] || (hash + 1) * ctas <= (uint64_t)SUPERSTEP_SAMPLE_AT_LEAST << 32;
}

#ifdef __CUDA__
/* Returns whether the calling thread's accesses are left out. */
__device__ static inline bool superstep_leaves_out(unsigned long long launch, const uint64_t *words) {
  if (launch & SUPERSTEP_LAUNCH_SKIPPED) return true;
  const uint64_t ctas = (uint64_t)gridDim.x * gridDim.y * gridDim.z;
  const uint64_t cta = blockIdx.x + (uint64_t)gridDim.x * (blockIdx.y + (uint64_t)gridDim.y * blockIdx.z);
  return !superstep_takes_cta(words, ctas, cta);
}
#endif

#endif
