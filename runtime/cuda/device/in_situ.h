/* What kernels of the protocol `in-situ` share with the host (src/in_situ/layout.rs mirrors it, and a test compares the two), and the
 * rules of docs/capture/in-situ.md for one entry of shadow memory. */
#ifndef SUPERSTEP_IN_SITU_H
#define SUPERSTEP_IN_SITU_H

#include <stdint.h>

/* Bits of the second trailing parameter; for 62 and 63 see selection.h. */
#define IN_SITU_LAUNCH_BITS 26      /* bits 0-25: number of the launch, from 1 */
#define IN_SITU_SLOT_SHIFT 26       /* bits 26-33: which sums it adds to */
#define IN_SITU_SLOT_MASK 0xff

/* Shadow memory comes in blocks: one for so many bytes of the program's, aligned. */
#define IN_SITU_BLOCK_SHIFT 21
#define IN_SITU_ENTRY_BYTES 16

/* Of each line of so many bytes, shadow memory says in 32 bits which launch stored there last: 0 if the host has written the whole line
 * since, a pattern of equal bytes where nobody did or nobody knows. */
#define IN_SITU_LINE_SHIFT 5

/* Where the shadow of a block lies; blocks number n are in place n mod their number, or nowhere. */
struct InSituBlock {
  uint64_t number; /* address >> IN_SITU_BLOCK_SHIFT; 0: none */
  uint64_t lines;  /* address of what the first line has */
  uint64_t shadow; /* address of the first entry */
  uint64_t unused;
};

/* What a CTA knows of a word for the rest of its launch, if the thread does not store in its line: a cache of 2^20 rows of 8 bytes, each
 * of which may be overwritten. The place of a row says bits 2-21 of the address. The row has bits 22-47, the CTA, four bits of the launch's
 * number, the bytes that it is about, and the code of a class, which is communicated, own or input: loads of these bytes are all of it, and
 * if they are communicated, the CTA has received them. The host clears the rows before the numbers come again. A row with code 0 is a
 * claim: a thread enters there that it does what follows from the word having been received. */
#define IN_SITU_KNOWN_BYTES (8 << 20)
#define IN_SITU_KNOWN_LAUNCHES 16
#define IN_SITU_KNOWN_MASK_SHIFT 3
#define IN_SITU_KNOWN_LAUNCH_SHIFT 7
#define IN_SITU_KNOWN_ADDRESS_SHIFT 12
#define IN_SITU_KNOWN_CTA_SHIFT 38 /* bits 0-25 of it; bit 26 is the row's bit 11 */
/* CTAs below this number can claim: the thread stands in bits of their numbers, and of the bytes. */
#define IN_SITU_CLAIMS_BELOW (1u << 18)

/* What a function keeps for itself, in registers where the handler is inlined. */
#define IN_SITU_WIDTHS 5
struct InSituFunction {
  uint64_t row;           /* what all rows of the CTA have in common */
  uint64_t blocks, known; /* of the context */
  uint32_t block_mask;
  struct {
    uint32_t loads, stores; /* of all lanes of the warp together */
    /* Access groups that lack lanes, of which this lane is the first, from bit 20 on; below, their threads. */
    uint32_t loads_apart, stores_apart;
    uint32_t by_class; /* loads, eight bits each: communicated, own, uninitialised, local */
    /* Atomic operations on input that changed nothing in shadow memory: as above, and those of the lane itself that were local. */
    uint32_t settled, settled_apart, local;
  } widths[IN_SITU_WIDTHS]; /* by the logarithm of the width */
};

/* Sums of a launch; so many copies of them are added up in the end. */
#define IN_SITU_COPIES 32
#define IN_SITU_SUMS 160
/* Thread accesses of all whose bytes are in one class: ((operation * 5 + logarithm of the width) * 8 + class). In the place of
 * IN_SITU_INPUT are all loads and atomic operations of a width: what is not in another class is input. */
#define IN_SITU_THREADS 0
/* By operation: inactive lanes of access groups; accesses of other widths, and their bytes. */
#define IN_SITU_MISSING 120
#define IN_SITU_ODD_THREADS 123
#define IN_SITU_ODD_BYTES 126
/* Bytes by class, of accesses with class IN_SITU_NONE. */
#define IN_SITU_BYTES 129
#define IN_SITU_PERHAPS_LOCAL 136
#define IN_SITU_SEVERAL_WRITERS 137
#define IN_SITU_RACING 138
#define IN_SITU_NEW_ROWS 139        /* rows that it began in the table of transfers */
#define IN_SITU_LOST_BYTES 140      /* bytes that found no room there */
#define IN_SITU_NOT_SPLIT 141       /* words that found no room for entries of their bytes */
#define IN_SITU_UNSHADOWED_LOADED 142 /* bytes that have no entries */
#define IN_SITU_UNSHADOWED_STORED 143
#define IN_SITU_WITHIN_LAUNCH 144 /* bytes loaded, without atomic operations, that another CTA had stored in the launch */

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
#define IN_SITU_NONE 7              /* a store, or bytes of several classes */

/* A CTA and a word of which it received bytes in a launch. */
struct InSituReader {
  uint64_t who;  /* launch << 38 | cta << 11 | mask of the bytes */
  uint64_t word; /* address / 4 */
};

/* What a block of CTAs received from another; a block is called by its first CTA. A row of 0 is free. */
struct InSituTransfer {
  uint64_t source;   /* launch << 38 | cta << 11 */
  uint64_t receiver; /* the same */
  uint64_t bytes;
  uint64_t count;    /* loads */
  uint64_t stored;   /* bytes that the source stored, read first */
  uint64_t unused;
};

/* Receivers' CTA numbers in rows that say something of two launches only, whatever the source's: count is bytes with several writers; */
#define IN_SITU_OF_LAUNCHES 0x7ffffff
/* bytes are bytes perhaps received before. */
#define IN_SITU_PERHAPS_AGAIN 0x7fffffe

/* What a kernel's first trailing parameter points to. */
struct InSituContext {
  uint64_t version;
  const struct InSituBlock *blocks;
  uint64_t block_mask;      /* places for blocks less one */
  uint64_t *known;
  uint64_t *sums;           /* of each slot IN_SITU_COPIES times IN_SITU_SUMS */
  struct InSituReader *readers;
  uint64_t reader_mask;     /* places for readers less one; at least 31 */
  struct InSituTransfer *transfers;
  uint64_t transfer_mask;   /* rows less one */
  const uint32_t *kernels;  /* number of each launch's kernel, by the launch's number */
  uint64_t *split;          /* entries of bytes; the first word of the first four counts those in use */
  uint64_t split_most;      /* how many fours there are */
  const uint64_t *selection;
  uint64_t block_bits;      /* what is left of launch << 38 | cta << 11 | … of a block of CTAs: without the lower bits of the CTA */
};

#define IN_SITU_VERSION 0x300000001ull

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
/* `before` of words whose bytes have entries of their own. */
#define IN_SITU_IS_SPLIT 0xfffffffffffffffeull
#define IN_SITU_UNWRITTEN 0xffffffffffffffffull
#define IN_SITU_NOBODY_KNOWS 0xeeeeeeeeeeeeeeeeull

struct InSituEntry {
  uint64_t before, now;
};

#ifdef __CUDA__
#define IN_SITU_FUNCTION __device__ static inline
#else
#define IN_SITU_FUNCTION static inline
#endif

/* Whether a launch has written the entry since the host did. */
IN_SITU_FUNCTION int in_situ_has_now(struct InSituEntry e) {
  return (uint32_t)(e.now >> IN_SITU_LAUNCH_SHIFT) - 1u < 1u << (IN_SITU_LAUNCH_BITS - 1);
}

/* Whether the writer before `launch` is in `now`. */
IN_SITU_FUNCTION int in_situ_is_past(struct InSituEntry e, uint64_t launch) {
  return in_situ_has_now(e) && (uint32_t)(e.now >> IN_SITU_LAUNCH_SHIFT) != (uint32_t)launch;
}

/* Whether a CTA other than that of `me` has written the entry in its launch. */
IN_SITU_FUNCTION int in_situ_is_of_another_cta(struct InSituEntry e, uint64_t me) {
  if (!in_situ_has_now(e) || (e.now ^ me) >> IN_SITU_LAUNCH_SHIFT != 0) return 0;
  return (e.now ^ me) >> IN_SITU_CTA_SHIFT != 0 || (e.before & IN_SITU_NOW_SEVERAL) != 0;
}

/* Who wrote before `launch`, in the form of `before` but with the marks of its bytes in bits 9-6 and its `several` in bit 10. */
IN_SITU_FUNCTION uint64_t in_situ_source(struct InSituEntry e, uint64_t launch) {
  if (!in_situ_is_past(e, launch)) return e.before & ~0x3full;
  return (e.now >> IN_SITU_CTA_SHIFT) << IN_SITU_CTA_SHIFT | (e.before & IN_SITU_NOW_SEVERAL) << 9 |
         (e.before >> IN_SITU_NOW_READ_SHIFT & 0xf) << IN_SITU_BEFORE_READ_SHIFT;
}

/* Where `before` has the marks of the bytes of the source that have been read. */
IN_SITU_FUNCTION unsigned in_situ_read_shift(int is_past) { return is_past ? IN_SITU_NOW_READ_SHIFT : IN_SITU_BEFORE_READ_SHIFT; }

/* The entry after a write of `me` (launch, CTA and thread). */
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
