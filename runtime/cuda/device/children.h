/* What kernels asked for while one was running. The host reads it when the kernel has ended (src/children.rs mirrors every field, and a test
 * compares the two). It lies in host memory that the device sees. */
#ifndef SUPERSTEP_CHILDREN_H
#define SUPERSTEP_CHILDREN_H

#include <stdint.h>

#define SUPERSTEP_CHILD_LAUNCH 0
#define SUPERSTEP_CHILD_COPY 1
#define SUPERSTEP_CHILD_FILL 2

struct SuperstepChild {
  uint32_t kind;      /* SUPERSTEP_CHILD_… */
  uint32_t stream;    /* number of the stream; 0: the CTA's own */
  uint64_t cta;       /* linear number of the CTA that asked */
  uint64_t function;  /* launch: number of the kernel in its module, from 1 */
  uint64_t arguments; /* launch: where they lie in the queue's bytes */
  uint64_t to;        /* copy, fill: first byte written */
  uint64_t from;      /* copy: first byte read; fill: the byte */
  uint64_t bytes;     /* launch: dynamic shared memory; else the number of bytes */
  uint32_t grid[3];
  uint32_t block[3];
};

struct SuperstepChildren {
  uint64_t used;           /* children asked for, also those for which there was no room */
  uint64_t used_bytes;     /* bytes of arguments asked for */
  uint64_t streams;        /* numbers of streams given out */
  uint64_t capacity;       /* children that there is room for */
  uint64_t capacity_bytes; /* bytes of arguments that there is room for */
  struct SuperstepChild *children;
  uint8_t *bytes;
};

#endif
