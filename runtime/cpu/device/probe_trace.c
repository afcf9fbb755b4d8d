/* Probe handler "trace": appends the access to the log of the running thread. */
#include "thread.h"

__attribute__((weak)) _Thread_local struct SuperstepThread __superstep_thread;

void __superstep_probe_access(void *context, uint64_t launch, uint32_t site, void *address, uint32_t width_bytes) {
  (void)context;
  (void)launch;
  if (__builtin_expect(__superstep_thread.log_cursor >= __superstep_thread.log_end, 0))
    __superstep_log_full();
  uint64_t *entry = __superstep_thread.log_cursor;
  entry[0] = (uint64_t)width_bytes << 32 | site;
  entry[1] = (uint64_t)(uintptr_t)address;
  __superstep_thread.log_cursor = entry + 2;
}
