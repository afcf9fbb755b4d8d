/* Rings in device memory that kernels write and the host reads in the `stream` protocol (src/recorder/stream/layout.rs
 * mirrors them; a test compares the two). docs/capture has the protocol (protocol.md) and its proof (correctness.md).
 *
 * The buffer of a CUDA stream is a contiguous range of device memory: a StreamHeader, a StreamRing for each ring, and
 * the rings' data. A kernel's first trailing parameter is the buffer's address. The second one contains the launch
 * number and the shape, so that writing a record reads only the ring. */
#ifndef SUPERSTEP_STREAM_H
#define SUPERSTEP_STREAM_H

#include <stdint.h>

/* Size of a unit, the granularity of rings. */
#define STREAM_UNIT_BYTES 16

/* Bits of the second trailing parameter. */
#define STREAM_LAUNCH_BITS 32       /* bits 0-31: launch number */
#define STREAM_RINGS_SHIFT 32       /* bits 32-43: number of rings, minus one */
#define STREAM_RINGS_MASK 0xfff
#define STREAM_PIECE_SHIFT 44       /* bits 44-51: logarithm of the units per piece */
#define STREAM_PIECE_MASK 0xff
#define STREAM_SLOTS_SHIFT 52       /* bits 52-55: logarithm of the pieces per ring */
#define STREAM_SLOTS_MASK 0xf
/* Bits 62 and 63: see selection.h. */

/* A record spans at most two pieces, because it is never longer than a piece. */
#define STREAM_MIN_PIECE_UNITS 32
/* Maximum number of pieces in a ring: the number of counters in StreamRing, and of bits in its window. */
#define STREAM_MAX_SLOTS 16

/* A ring. Positions count units from 0 and only grow; position p is in unit p mod (slots * piece units). Piece q begins
 * at position q * piece units and is in slot q mod slots. `head`, `window` and `written` have separate cache lines. */
struct StreamRing {
  uint64_t head;            /* positions below it are reserved for records */
  uint64_t pad0[15];
  uint64_t window;          /* bits 0-31: pieces below this number n are free again; bit 32+i: so is piece n + i */
  uint64_t host_limit;      /* last seen value of the host's `taken` */
  uint64_t pad1[14];
  uint32_t written[STREAM_MAX_SLOTS]; /* completely written units in each slot, modulo 2^32 */
  uint64_t pad2[8];
};

/* The header of a buffer. Only drains read its host addresses. */
struct StreamHeader {
  uint64_t version;         /* SUPERSTEP_STREAM_VERSION */
  uint64_t host_slots;      /* number of pieces per ring that fit in host memory, a power of two */
  uint64_t data;            /* host memory: rings x host_slots pieces */
  uint64_t ready;           /* host memory: rings x host_slots pairs: piece number + 1 | valid units << 32; launch */
  uint64_t taken;           /* host memory: for each ring, 128 bytes apart, the number of pieces read by the host */
  uint64_t ended;           /* host memory: number of launches that have ended with all their pieces announced */
  uint64_t serial;          /* number of ended launches in this buffer, which is the running launch's number (from 0) */
  uint64_t arrived;         /* CTAs of the flush kernel that have finished */
  uint64_t pad[7];
  uint64_t selection;       /* the CTAs to record (see selection.h); 0 if no launch needs it */
};

/* A short record begins with one unit, a long one with two:
 *
 *   word 0   short: bits 0-47 base address, 48-63 stride (signed)     long: base address
 *   word 1   bits 0-7 tag, 8-12 warp, 13-15 log2 of the width, 16-27 site in its module, 28-31 module, 32-63 linear CTA
 *            (width and site only in short records)
 *   word 2   long: bits 0-31 site, 32-63 mask
 *   word 3   long: bits 0-31 stride (signed), 32-63 width
 *
 * In a short record, all 32 lanes took part. The base is the address of the first lane whose next lane also took part
 * or, if there is none, of the first lane. A run's other addresses are base + stride * (lane - that lane). In other
 * forms, the lanes' distances from the base follow in lane order, padded to whole units. */
#define STREAM_FORM_RUN 1
#define STREAM_FORM_OFFSETS_16 2    /* signed 16-bit distances */
#define STREAM_FORM_OFFSETS_32 3
#define STREAM_FORM_OFFSETS_64 4
#define STREAM_FORM_MASK 7
#define STREAM_TAG_LONG 8
#define STREAM_TAG_PIECE_SHIFT 4    /* bits 4-7: low bits of the number of the piece in which the record begins */

#define SUPERSTEP_STREAM_VERSION 0x100000002ull

#endif
