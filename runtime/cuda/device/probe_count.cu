// The handler for a counting run, which has the same sites as a trace but only counts the threads that executed each
// site.

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
  // The calls of two sites may have been merged into one instruction, so each site's lanes are counted separately.
  const unsigned same_site = __match_any_sync(mask, site);
  if (lane == (unsigned)__ffs(same_site) - 1) {
    uint64_t *counter = trace->site_counts[site >> 16] + (site & 0xffff);
    atomicAdd(reinterpret_cast<unsigned long long *>(counter), (unsigned long long)__popc(same_site));
  }
}
