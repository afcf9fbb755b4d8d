/* The structure to which a traced kernel's first trailing parameter points. The host writes it, and the kernel only
 * reads it (src/recorder/thesis/layout.rs mirrors every field; a test compares the two). It is in device memory so that
 * reads do not cross the bus. */
#ifndef SUPERSTEP_CONTEXT_H
#define SUPERSTEP_CONTEXT_H

#include <stdint.h>

/* The three indices of a bin, in mapped host memory. All count records and only increase; the record at position p
 * is in slot p & (bin_records - 1). Only one side writes each of them, so no update can be lost. Each is in a separate
 * cache line so that the host's polling does not disturb the device's atomics. */
struct SuperstepBin {
  uint64_t reserved;     /* incremented by the device: positions reserved for access groups */
  uint64_t pad0[15];
  uint64_t acknowledged; /* incremented by the device: completely written records */
  uint64_t pad1[15];
  uint64_t released;     /* stored by the host: positions below released + bin_records may be written */
  uint64_t pad2[15];
};

/* An access by one thread. */
struct SuperstepRecord {
  uint64_t cta_site; /* linear CTA index << 32 | site */
  uint64_t address;
  uint64_t detail;   /* see the SUPERSTEP_DETAIL_ constants */
};

/* Bits of SuperstepRecord.detail. */
#define SUPERSTEP_DETAIL_SM_SHIFT 10     /* bits 0-9: thread index in the CTA; 10-21: SM */
#define SUPERSTEP_DETAIL_SM_MASK 0xfff
#define SUPERSTEP_DETAIL_GROUP_SHIFT 22  /* bits 22-26: number of records in this access group, minus one */
#define SUPERSTEP_DETAIL_LAP_SHIFT 30    /* bit 30: 1 on the slot's first use, 0 on the second, 1 on the third, … */
#define SUPERSTEP_DETAIL_LEADER_SHIFT 31 /* bit 31: first record of its access group */
#define SUPERSTEP_DETAIL_WIDTH_SHIFT 32  /* bits 32-63: width in bytes */

struct TraceContext {
  uint32_t version;            /* SUPERSTEP_CONTEXT_VERSION */
  uint32_t bin_mask;           /* number of bins (a power of two) minus one */
  uint64_t bin_records;        /* records per bin, a power of two */
  uint32_t bin_records_log2;
  uint32_t pad;
  struct SuperstepBin *bins;
  struct SuperstepRecord *records; /* bins x bin_records, in mapped host memory */
  uint64_t **site_counts;      /* count probe: by module index, arrays in device memory with one counter per site */
  const uint64_t *selection;   /* the CTAs to record (see selection.h); null if no launch needs it */
};

#define SUPERSTEP_CONTEXT_VERSION 2

#endif
