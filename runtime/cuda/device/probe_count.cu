// Counting run: the same sites as a trace, but the handler only adds up how many threads executed each of them.

#include "context.h"
#include "selection.h"

extern "C" __device__ __attribute__((always_inline)) void
__superstep_probe_access(void *context, unsigned long long launch, unsigned site, void *address, unsigned width_bytes) {
  (void)address;
  (void)width_bytes;
  const TraceContext *trace = static_cast<const TraceContext *>(context);
  if (launch >> 62 && superstep_leaves_out(launch, trace->selection)) return;
  const unsigned mask = __activemask();
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  // Two sites' calls may have been merged into one instruction, so lanes add up with the lanes of their own site.
  const unsigned same = __match_any_sync(mask, site);
  if (lane == (unsigned)__ffs(same) - 1) {
    uint64_t *counter = trace->site_counts[site >> 16] + (site & 0xffff);
    atomicAdd(reinterpret_cast<unsigned long long *>(counter), (unsigned long long)__popc(same));
  }
}
