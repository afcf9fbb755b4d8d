/* Requests from a running kernel, in host memory that is mapped into the device's address space. The host reads them
 * after the kernel has ended (src/recorder/launch/children.rs mirrors every field; a test compares the two). */
#ifndef SUPERSTEP_CHILDREN_H
#define SUPERSTEP_CHILDREN_H

#include <stdint.h>

#define SUPERSTEP_CHILD_LAUNCH 0
#define SUPERSTEP_CHILD_COPY 1
#define SUPERSTEP_CHILD_FILL 2

struct SuperstepChild {
  uint32_t kind;      /* SUPERSTEP_CHILD_… */
  uint32_t stream;    /* stream number; 0 for the CTA's own stream */
  uint64_t cta;       /* linear index of the requesting CTA */
  uint64_t function;  /* launch: kernel number in its module, from 1 */
  uint64_t arguments; /* launch: offset of the arguments in the queue's `bytes` */
  uint64_t to;        /* copy, fill: address of the first byte written */
  uint64_t from;      /* copy: address of the first byte read; fill: the byte value */
  uint64_t bytes;     /* launch: dynamic shared memory; copy, fill: number of bytes */
  uint32_t grid[3];
  uint32_t block[3];
};

struct SuperstepChildren {
  uint64_t used;           /* requested children, including those that did not fit */
  uint64_t used_bytes;     /* requested argument bytes */
  uint64_t streams;        /* number of streams created */
  uint64_t capacity;       /* maximum number of children */
  uint64_t capacity_bytes; /* maximum number of argument bytes */
  struct SuperstepChild *children;
  uint8_t *bytes;
};

#endif
