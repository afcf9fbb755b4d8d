/* What the code of a defined probe asks the runtime for. */
#include "thread.h"

/* The launch's context; the runtime puts it where the counting probe has its counters. */
void *__superstep_probe_context(void) { return __superstep_thread.site_counts; }

/* Something that concerns a warp: the runtime finds the lanes that were there together, as for the accesses of a trace. */
void __superstep_probe_log(uint32_t site, uint32_t width, uint64_t payload) {
  if (__builtin_expect(__superstep_thread.log_cursor >= __superstep_thread.log_end, 0))
    __superstep_log_full();
  uint64_t *entry = __superstep_thread.log_cursor;
  entry[0] = (uint64_t)width << 32 | site;
  entry[1] = payload;
  __superstep_thread.log_cursor = entry + 2;
}
