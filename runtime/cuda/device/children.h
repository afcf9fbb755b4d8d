/* Requests of a running kernel, in host memory that is mapped into the device. The host reads them when the kernel has ended
 * (src/recorder/launch/children.rs mirrors every field, and a test compares the two). */
#ifndef SUPERSTEP_CHILDREN_H
#define SUPERSTEP_CHILDREN_H

#include <stdint.h>

#define SUPERSTEP_CHILD_LAUNCH 0
#define SUPERSTEP_CHILD_COPY 1
#define SUPERSTEP_CHILD_FILL 2

struct SuperstepChild {
  uint32_t kind;      /* SUPERSTEP_CHILD_… */
  uint32_t stream;    /* number of the stream; 0: the CTA's own */
  uint64_t cta;       /* linear number of the requesting CTA */
  uint64_t function;  /* launch: number of the kernel in its module, from 1 */
  uint64_t arguments; /* launch: their offset in the queue's bytes */
  uint64_t to;        /* copy, fill: first byte written */
  uint64_t from;      /* copy: first byte read; fill: the byte */
  uint64_t bytes;     /* launch: dynamic shared memory; else the number of bytes */
  uint32_t grid[3];
  uint32_t block[3];
};

struct SuperstepChildren {
  uint64_t used;           /* requested children, including those for which there was no room */
  uint64_t used_bytes;     /* requested bytes of arguments */
  uint64_t streams;        /* streams that were created */
  uint64_t capacity;       /* most children */
  uint64_t capacity_bytes; /* most bytes of arguments */
  struct SuperstepChild *children;
  uint8_t *bytes;
};

#endif
