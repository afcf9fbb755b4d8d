/* Probe handler "count": increments the site's counter. Each worker has its own counters, so no atomic is needed. */
#include "thread.h"

__attribute__((weak)) _Thread_local struct SuperstepThread __superstep_thread;

void __superstep_probe_access(void *context, uint64_t launch, uint32_t site, void *address, uint32_t width_bytes) {
  (void)context;
  (void)launch;
  (void)address;
  (void)width_bytes;
  __superstep_thread.site_counts[site] += 1;
}
