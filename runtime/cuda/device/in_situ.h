/* Data that kernels share with the host in the `in-situ` protocol (src/recorder/in_situ/layout.rs mirrors it; a test
 * compares the two), and the rules from docs/capture/in-situ.md for entries in shadow memory. */
#ifndef SUPERSTEP_IN_SITU_H
#define SUPERSTEP_IN_SITU_H

#include <stdint.h>

/* Bits of the second trailing parameter; for bits 62 and 63, see selection.h. */
#define IN_SITU_LAUNCH_BITS 26      /* bits 0-25: launch number, from 1 */
#define IN_SITU_SLOT_SHIFT 26       /* bits 26-33: slot of the launch's sums */
#define IN_SITU_SLOT_MASK 0xff

/* Shadow memory consists of blocks, one for each aligned 2^IN_SITU_BLOCK_SHIFT bytes of the program's memory. */
#define IN_SITU_BLOCK_SHIFT 21
#define IN_SITU_ENTRY_BYTES 16

/* For each line of 2^IN_SITU_LINE_SHIFT bytes, shadow memory contains the 32-bit number of the last launch that stored
 * there: 0 if the host has written the whole line since, or four identical bytes if the line was never written or
 * its writer is unknown. */
#define IN_SITU_LINE_SHIFT 5

/* The location of a block's shadow. Block n, if it has a shadow, is at index n modulo the size of the table. */
struct InSituBlock {
  uint64_t number; /* address >> IN_SITU_BLOCK_SHIFT, or 0 for none */
  uint64_t lines;  /* address of the first line's launch number */
  uint64_t shadow; /* address of the first entry */
  uint64_t unused;
};

/* A cache of the classes that CTAs have found for words. A row is valid for the rest of a launch, for threads that do
 * not store to the word's line. There are 2^20 rows of 8 bytes, any of which may be overwritten. A row's position
 * implies bits 2-21 of the address. The row contains bits 22-47, the CTA, four bits of the launch number, a byte mask,
 * and the code of a class (communicated, own or input): loads of these bytes have that class, and if it is
 * communicated, the CTA has received them. The host clears the rows before the four bits wrap around. A row with code 0
 * is a claim: the thread that made it counts the word as received. */
#define IN_SITU_KNOWN_BYTES (8 << 20)
#define IN_SITU_KNOWN_LAUNCHES 16
#define IN_SITU_KNOWN_MASK_SHIFT 3
#define IN_SITU_KNOWN_LAUNCH_SHIFT 7
#define IN_SITU_KNOWN_ADDRESS_SHIFT 12
#define IN_SITU_KNOWN_CTA_SHIFT 38 /* bits 0-25 of the CTA; bit 26 is the row's bit 11 */
/* Only CTAs below this number can make claims, since the thread number uses bits of the CTA number and of the mask. */
#define IN_SITU_CLAIMS_BELOW (1u << 18)

/* A function's data, which stays in registers where the handler is inlined. */
#define IN_SITU_WIDTHS 5
struct InSituFunction {
  uint64_t row;           /* the common part of the CTA's rows */
  uint64_t blocks, known; /* from the context */
  uint32_t block_mask;
  struct {
    uint32_t loads, stores; /* by all lanes of the warp together */
    /* Access groups that have inactive lanes and whose first active lane is this one: their number in bits 20 and up,
     * and their active lanes in the bits below. */
    uint32_t loads_apart, stores_apart;
    uint32_t by_class; /* loads by class, eight bits each: communicated, own, uninitialised, local */
    /* Atomic operations on input that left shadow memory unchanged, counted like loads, and this lane's local ones. */
    uint32_t settled, settled_apart, local;
  } widths[IN_SITU_WIDTHS]; /* indexed by the logarithm of the width */
};

/* A launch's sums, in several copies that the host adds up. */
#define IN_SITU_COPIES 32
#define IN_SITU_SUMS 160
/* Thread accesses whose bytes all have the same class: ((operation * 5 + logarithm of the width) * 8 + class).
 * IN_SITU_INPUT instead counts all loads and atomic operations of a width: those in no other class read input. */
#define IN_SITU_THREADS 0
/* By operation: inactive lanes in access groups; accesses of other widths, and their bytes. */
#define IN_SITU_MISSING 120
#define IN_SITU_ODD_THREADS 123
#define IN_SITU_ODD_BYTES 126
/* Bytes by class, for accesses with class IN_SITU_NONE. */
#define IN_SITU_BYTES 129
#define IN_SITU_PERHAPS_LOCAL 136
#define IN_SITU_SEVERAL_WRITERS 137
#define IN_SITU_RACING 138
#define IN_SITU_NEW_ROWS 139        /* new rows in the table of transfers */
#define IN_SITU_NOT_SPLIT 140       /* words that were not split for lack of room for entries */
#define IN_SITU_UNSHADOWED_LOADED 141 /* bytes without entries */
#define IN_SITU_UNSHADOWED_STORED 142
#define IN_SITU_WITHIN_LAUNCH 143 /* bytes loaded, not by atomic operations, that another CTA stored in this launch */

/* Operations. */
#define IN_SITU_LOAD 0
#define IN_SITU_STORE 1
#define IN_SITU_ATOMIC 2

/* Classes of loaded bytes. */
#define IN_SITU_COMMUNICATED 0
#define IN_SITU_OWN 1
#define IN_SITU_INPUT 2
#define IN_SITU_UNINITIALISED 3
#define IN_SITU_UNKNOWN 4
#define IN_SITU_LOCAL 5
#define IN_SITU_NONE 7              /* a store, or bytes of multiple classes */

/* A CTA, and a word from which it received bytes in a launch. */
struct InSituReader {
  uint64_t who;  /* launch << 38 | cta << 11 | mask of the bytes */
  uint64_t word; /* address / 4 */
};

/* Data that one block of CTAs received from another. A block's first CTA identifies it. An all-zero row is free. */
struct InSituTransfer {
  uint64_t source;   /* launch << 38 | cta << 11 */
  uint64_t receiver; /* same format as `source` */
  uint64_t bytes;
  uint64_t count;    /* loads */
  uint64_t stored;   /* bytes that the source stored and the receiver was the first to read */
  uint64_t unused;
};

/* Replaces the receiver CTA in rows for pairs of launches, where `count` counts bytes with multiple writers. */
#define IN_SITU_OF_LAUNCHES 0x7ffffff
/* Likewise, but `bytes` counts bytes that may have been received before. */
#define IN_SITU_PERHAPS_AGAIN 0x7fffffe

/* An addition for which the table of transfers has no room. Kernels append it to a ring in the host's memory, which the
 * host empties while they run. Neither word of a complete addition is 0; the host clears both before the place is used
 * again. */
struct InSituAddition {
  uint64_t source;   /* launch << 38 | cta << 11 | bytes */
  uint64_t receiver; /* launch << 38 | cta << 11 | count << 5 | stored */
};
#define IN_SITU_ADDED_MASK 0x7ff
#define IN_SITU_ADDED_COUNT_SHIFT 5

/* The structure to which a kernel's first trailing parameter points. */
struct InSituContext {
  uint64_t version;
  const struct InSituBlock *blocks;
  uint64_t block_mask;      /* size of the table of blocks, minus one */
  uint64_t *known;
  uint64_t *sums;           /* for each slot, IN_SITU_COPIES times IN_SITU_SUMS */
  struct InSituReader *readers;
  uint64_t reader_mask;     /* size of the table of readers, minus one; at least 31 */
  struct InSituTransfer *transfers;
  uint64_t transfer_mask;   /* number of rows, minus one */
  const uint32_t *kernels;  /* each launch's kernel number, indexed by launch number */
  uint64_t *split;          /* per-byte entries in groups of four; the very first word counts the groups in use */
  uint64_t split_most;      /* number of groups */
  uint64_t *more_split;     /* more groups, in managed memory */
  uint64_t more_split_most;
  const uint64_t *selection;
  uint64_t block_bits;      /* mask for launch << 38 | cta << 11 | … that leaves the bits of a block of CTAs */
  struct InSituAddition *additions; /* the ring */
  uint64_t addition_mask;   /* its number of places, minus one */
  uint64_t *added;          /* number of additions by kernels, in the device's memory */
  const uint64_t *taken;    /* number of additions that the host has taken, in its memory */
};

#define IN_SITU_VERSION 0x300000002ull

#define IN_SITU_LAUNCH_SHIFT 38
#define IN_SITU_CTA_SHIFT 11
#define IN_SITU_CTA_MASK 0x7ffffff
/* Bits of `before`. */
#define IN_SITU_SPECIAL (1ull << 63)
#define IN_SITU_BEFORE_SEVERAL (1ull << 10)
#define IN_SITU_BEFORE_READ_SHIFT 6
#define IN_SITU_NOW_READ_SHIFT 2
#define IN_SITU_NOW_SEVERAL (1ull << 1)
#define IN_SITU_SEVERAL_THREADS 1ull
/* Bits of `now`. */
#define IN_SITU_PLAIN (1ull << 10)
#define IN_SITU_THREAD_MASK 0x3ff
/* `before` for words whose bytes have separate entries. */
#define IN_SITU_IS_SPLIT 0xfffffffffffffffeull
#define IN_SITU_UNWRITTEN 0xffffffffffffffffull
#define IN_SITU_UNKNOWN_WRITER 0xeeeeeeeeeeeeeeeeull

struct InSituEntry {
  uint64_t before, now;
};

#ifdef __CUDA__
#define IN_SITU_FUNCTION __device__ static inline
#else
#define IN_SITU_FUNCTION static inline
#endif

/* Returns whether a launch has written the entry since the host did. */
IN_SITU_FUNCTION int in_situ_has_now(struct InSituEntry e) {
  return (uint32_t)(e.now >> IN_SITU_LAUNCH_SHIFT) - 1u < 1u << (IN_SITU_LAUNCH_BITS - 1);
}

/* Returns whether the last writer before `launch` is in `now`. */
IN_SITU_FUNCTION int in_situ_is_past(struct InSituEntry e, uint64_t launch) {
  return in_situ_has_now(e) && (uint32_t)(e.now >> IN_SITU_LAUNCH_SHIFT) != (uint32_t)launch;
}

/* Returns whether a CTA other than `me`'s has written the entry in this launch. */
IN_SITU_FUNCTION int in_situ_is_of_another_cta(struct InSituEntry e, uint64_t me) {
  if (!in_situ_has_now(e) || (e.now ^ me) >> IN_SITU_LAUNCH_SHIFT != 0) return 0;
  return (e.now ^ me) >> IN_SITU_CTA_SHIFT != 0 || (e.before & IN_SITU_NOW_SEVERAL) != 0;
}

/* Returns the last writer before `launch`, in the format of `before`, but with the marks of its bytes in bits 9-6 and
 * its `several` bit in bit 10. */
IN_SITU_FUNCTION uint64_t in_situ_source(struct InSituEntry e, uint64_t launch) {
  if (!in_situ_is_past(e, launch)) return e.before & ~0x3full;
  return (e.now >> IN_SITU_CTA_SHIFT) << IN_SITU_CTA_SHIFT | (e.before & IN_SITU_NOW_SEVERAL) << 9 |
         (e.before >> IN_SITU_NOW_READ_SHIFT & 0xf) << IN_SITU_BEFORE_READ_SHIFT;
}

/* Returns the bit position in `before` of the marks for the source's bytes that have been read. */
IN_SITU_FUNCTION unsigned in_situ_read_shift(int is_past) { return is_past ? IN_SITU_NOW_READ_SHIFT : IN_SITU_BEFORE_READ_SHIFT; }

/* Returns the entry after a write by `me` (launch, CTA and thread). */
IN_SITU_FUNCTION struct InSituEntry in_situ_written(struct InSituEntry e, uint64_t me, int plain) {
  const uint64_t launch = me >> IN_SITU_LAUNCH_SHIFT;
  if (in_situ_has_now(e) && e.now >> IN_SITU_LAUNCH_SHIFT == launch) {
    if (((e.now ^ me) & ~IN_SITU_PLAIN) != 0) e.before |= IN_SITU_SEVERAL_THREADS;
    if (e.now >> IN_SITU_CTA_SHIFT != me >> IN_SITU_CTA_SHIFT) e.before |= IN_SITU_NOW_SEVERAL;
  } else {
    e.before = in_situ_source(e, launch);
    e.now = me;
  }
  if (plain) e.now |= IN_SITU_PLAIN;
  return e;
}

#endif
