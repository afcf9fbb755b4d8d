/* Linked into every generated module. Defines the thread state, the function that yields to other threads (there are none),
 * and the probe's handler, which notifies the driver. */
#include "thread.h"

__attribute__((weak)) _Thread_local struct SuperstepThread __superstep_thread;

__attribute__((weak)) struct SuperstepThread *__superstep_thread_block(void) { return &__superstep_thread; }

__attribute__((weak)) void __superstep_yield(void) {}

void traced_access(uint32_t site, const void *address, uint32_t width_bytes);

void __superstep_probe_access(void *context, uint64_t launch, uint32_t site, void *address, uint32_t width_bytes) {
  (void)context, (void)launch;
  traced_access(site, address, width_bytes);
}
