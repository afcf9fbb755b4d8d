/* Rings in device memory, as kernels of the protocol `stream` write them and the host reads them (src/stream/layout.rs mirrors
 * it, and a test compares the two). docs/capture/protocol.md has the protocol and its argument.
 *
 * The buffer of one CUDA stream is one piece of device memory: a StreamHeader, one StreamRing for each ring, and the
 * rings' data. A kernel gets its address as first trailing parameter. The second one holds the launch's number and the
 * shape, so that the way of a record reads nothing but its ring. */
#ifndef SUPERSTEP_STREAM_H
#define SUPERSTEP_STREAM_H

#include <stdint.h>

/* Data is counted in units of 16 bytes. */
#define STREAM_UNIT_BYTES 16

/* Bits of the second trailing parameter. */
#define STREAM_LAUNCH_BITS 32       /* bits 0-31: number of the launch */
#define STREAM_RINGS_SHIFT 32       /* bits 32-43: rings, less one */
#define STREAM_RINGS_MASK 0xfff
#define STREAM_PIECE_SHIFT 44       /* bits 44-51: logarithm of a piece's units */
#define STREAM_PIECE_MASK 0xff
#define STREAM_SLOTS_SHIFT 52       /* bits 52-55: logarithm of a ring's pieces */
#define STREAM_SLOTS_MASK 0xf
/* Bits 62 and 63: see selection.h. */

/* A record touches at most two pieces, because it is never longer than one. */
#define STREAM_MIN_PIECE_UNITS 32
/* Pieces of a ring: StreamRing has so many counters, and its window so many bits. */
#define STREAM_MAX_SLOTS 16

/* One ring. Positions count units from 0 and only grow; position p lies in unit p mod (slots * piece units). Piece q holds the
 * positions from q * piece units on, and lies in slot q mod slots. Each word has a line of its own. */
struct StreamRing {
  uint64_t head;            /* positions below it are given to records */
  uint64_t pad0[15];
  uint64_t window;          /* bits 0-31: pieces below this number are free again; bit 32+i: so is that number + i */
  uint64_t host_limit;      /* what was last seen of the host's `taken` */
  uint64_t pad1[14];
  uint32_t written[STREAM_MAX_SLOTS]; /* units written completely into each slot, modulo 2^32 */
  uint64_t pad2[8];
};

/* Where the host's side is. Only drains read it. */
struct StreamHeader {
  uint64_t version;         /* SUPERSTEP_STREAM_VERSION */
  uint64_t host_slots;      /* pieces that the host has room for, for each ring: a power of two */
  uint64_t data;            /* host memory: rings x host_slots pieces */
  uint64_t ready;           /* host memory: rings x host_slots pairs: number of the piece + 1 and << 32 its valid units; its launch */
  uint64_t taken;           /* host memory: of each ring the number of pieces that the host has read, 128 bytes apart */
  uint64_t ended;           /* host memory: one word: launches that have ended and whose pieces are all announced */
  uint64_t serial;          /* launches that have ended in this buffer: the number, from 0, of the one that runs */
  uint64_t arrived;         /* CTAs of the flush kernel that are through */
  uint64_t pad[7];
  uint64_t selection;       /* which CTAs are recorded, see selection.h; 0 when that is not asked */
};

/* A record begins with one unit, or with two:
 *
 *   word 0   short: bits 0-47 base address, 48-63 stride (signed)     long: base address
 *   word 1   bits 0-7 tag, 8-12 warp, 13-15 logarithm of the width, 16-27 site in its module, 28-31 module, 32-63 linear CTA
 *            (width and site only in a short one)
 *   word 2   long: bits 0-31 site, 32-63 mask
 *   word 3   long: bits 0-31 stride (signed), 32-63 width
 *
 * A short one means that all 32 lanes took part. The base is the address of the first lane whose next lane takes part
 * too, or else of the first lane. A run's other addresses are base + stride * (lane - that lane); otherwise the lanes' distances
 * from the base follow in lane order, filled up to whole units. */
#define STREAM_FORM_RUN 1
#define STREAM_FORM_OFFSETS_16 2    /* signed distances of 16 bits */
#define STREAM_FORM_OFFSETS_32 3
#define STREAM_FORM_OFFSETS_64 4
#define STREAM_FORM_MASK 7
#define STREAM_TAG_LONG 8
#define STREAM_TAG_PIECE_SHIFT 4    /* bits 4-7: low bits of the number of the piece that the record begins in */

#define SUPERSTEP_STREAM_VERSION 0x100000002ull

#endif
