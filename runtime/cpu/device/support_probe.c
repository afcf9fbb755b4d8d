/* Functions called by the code of user-defined probes. */
#include "thread.h"

/* Returns the launch's context, which the runtime stores in the field for the counting probe's counters. */
void *__superstep_probe_context(void) { return __superstep_thread.site_counts; }

/* Reserves an entry of `words` words (an even number): a head (width << 32 | site of the first point) and a payload per
 * point. The caller writes the payloads before any other lane can run. Even the smallest log has room for any entry. */
uint64_t *__superstep_probe_reserve(uint64_t head, uint32_t words) {
  while (__builtin_expect(__superstep_thread.log_end - __superstep_thread.log_cursor < (int64_t)words, 0))
    __superstep_log_full();
  uint64_t *entry = __superstep_thread.log_cursor;
  entry[0] = head;
  __superstep_thread.log_cursor = entry + words;
  return entry + 1;
}

/* Logs an access for a warp-level handler. The runtime groups the lanes that executed it together, as in a trace. */
void __superstep_probe_log(uint32_t site, uint32_t width, uint64_t payload) {
  if (__builtin_expect(__superstep_thread.log_cursor >= __superstep_thread.log_end, 0))
    __superstep_log_full();
  uint64_t *entry = __superstep_thread.log_cursor;
  entry[0] = (uint64_t)width << 32 | site;
  entry[1] = payload;
  __superstep_thread.log_cursor = entry + 2;
}
