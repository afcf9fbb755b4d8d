/* What the code of a defined probe asks the runtime for. */
#include "thread.h"

/* The launch's context; the runtime puts it where the counting probe has its counters. */
void *__superstep_probe_context(void) { return __superstep_thread.site_counts; }

/* Room for an entry of `words` words, an even number: its head, which is width << 32 | site of the first of its places, and a payload for
 * each of them, which the caller writes before any other lane can run. The smallest log of a thread has room for any entry. */
uint64_t *__superstep_probe_reserve(uint64_t head, uint32_t words) {
  while (__builtin_expect(__superstep_thread.log_end - __superstep_thread.log_cursor < (int64_t)words, 0))
    __superstep_log_full();
  uint64_t *entry = __superstep_thread.log_cursor;
  entry[0] = head;
  __superstep_thread.log_cursor = entry + words;
  return entry + 1;
}

/* An access that concerns a warp: the runtime finds the lanes that were there together, as for the accesses of a trace. */
void __superstep_probe_log(uint32_t site, uint32_t width, uint64_t payload) {
  if (__builtin_expect(__superstep_thread.log_cursor >= __superstep_thread.log_end, 0))
    __superstep_log_full();
  uint64_t *entry = __superstep_thread.log_cursor;
  entry[0] = (uint64_t)width << 32 | site;
  entry[1] = payload;
  __superstep_thread.log_cursor = entry + 2;
}
