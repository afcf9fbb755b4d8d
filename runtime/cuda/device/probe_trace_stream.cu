// The producer for the `stream` protocol. The lanes that are active together write a record into their SM's ring.
// The record takes 16 or 32 bytes if the lanes' addresses form a run. Lanes whose record completes a piece of the ring
// copy the piece to the host. docs/capture/correctness.md proves that no record is lost and no thread waits forever.

#include "selection.h"
#include "stream_drain.cuh"

namespace {

using namespace stream;

__device__ inline unsigned lane_number() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

__device__ inline unsigned sm_number() {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

// Adds to the number of units written to a slot. Releases everything written by this thread and the threads that it has
// synchronised with.
__device__ inline void add_written(uint32_t *word, unsigned units) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(word), "r"(units) : "memory");
}

__device__ inline unsigned load_written(const uint32_t *word) {
  unsigned value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

// Waits until a piece, whose last position belongs to the caller, is completely written, then copies it to the host.
// Rarely called, and therefore not inlined.
__device__ __attribute__((noinline)) void drain(void *context, unsigned long long launch, unsigned ring, unsigned piece,
                                                unsigned mask) {
  const unsigned rank = __popc(mask & ((1u << lane_number()) - 1));
  const Shape shape(launch);
  if (rank == 0) {
    const uint32_t *written = ring_at(context, ring)->written + (piece & ((1u << shape.slots_log2) - 1));
    const unsigned all = ((piece >> shape.slots_log2) + 1) << shape.piece_log2;
    while (load_written(written) != all) __nanosleep(100);
  }
  __threadfence(); // with the load above, makes everything that was written to the piece visible from here on
  copy_piece(context, launch, ring, piece, 1u << shape.piece_log2, mask, rank, __popc(mask));
  if (rank == 0) free_piece(ring_at(context, ring), piece);
  __syncwarp(mask);
}

// Waits until `piece` may be written. Only the leader calls this.
__device__ inline void wait_for_room(const StreamRing *control, unsigned piece, unsigned slots) {
  unsigned pause_ns = 200;
  do {
    __nanosleep(pause_ns);
    if (pause_ns < 4000) pause_ns *= 2;
  } while (piece - (unsigned)load_relaxed(&control->window) >= slots);
}

// Writes the record for the lanes in `mask`, all of which call this function together, with the same site and width.
__device__ inline void write_group(void *context, unsigned long long launch, unsigned mask, unsigned site, uint64_t address,
                                   unsigned width_bytes) {
  const unsigned lane = lane_number();
  const unsigned leader = __ffs(mask) - 1;
  const Shape shape(launch);

  // In a run, the distance between neighbouring lanes' addresses is constant. Two lanes determine it; all check it.
  const unsigned pairs = mask & mask >> 1;
  const unsigned first_lane = __ffs(pairs ? pairs : mask) - 1;
  const uint64_t base = __shfl_sync(mask, (unsigned long long)address, first_lane);
  const unsigned next_low = __shfl_sync(mask, (unsigned)address, (first_lane + 1) & 31);
  const int stride = pairs ? (int)(next_low - (unsigned)base) : 0;
  const long long distance = (long long)(address - base);
  const bool run = __all_sync(mask, distance == (long long)stride * ((int)lane - (int)first_lane));

  const unsigned width_log2 = __ffs(width_bytes) - 1;
  bool brief = mask == 0xffffffffu && base >> 48 == 0 && (site & 0xf000f000u) == 0 && site >> 20 == 0 &&
               width_bytes == 1u << (width_log2 & 7);
  unsigned form = STREAM_FORM_RUN, lanes_bytes_log2 = 0, units = 0;
  if (run) {
    brief = brief && stride == (short)stride;
  } else {
    const bool in_32 = __all_sync(mask, distance == (int)distance);
    const bool in_16 = __all_sync(mask, distance == (short)distance);
    lanes_bytes_log2 = in_16 ? 1 : in_32 ? 2 : 3;
    form = STREAM_FORM_RUN + lanes_bytes_log2;
    units = ((__popc(mask) << lanes_bytes_log2) + STREAM_UNIT_BYTES - 1) / STREAM_UNIT_BYTES;
  }
  const unsigned header_units = brief ? 1 : 2;
  units += header_units;

  // All lanes use the leader's SM, since a warp may be moved between two reads of %smid.
  unsigned sm = sm_number();
  unsigned ring = sm < shape.rings ? sm : sm % shape.rings;
  uint64_t first = 0;
  const unsigned slots = 1u << shape.slots_log2;
  if (lane == leader) {
    StreamRing *control = ring_at(context, ring);
    const unsigned free_below = (unsigned)load_relaxed(&control->window) + slots;
    first = atomicAdd(reinterpret_cast<unsigned long long *>(&control->head), (unsigned long long)units);
    const unsigned last_piece = (unsigned)((first + units - 1) >> shape.piece_log2);
    if ((int)(free_below - last_piece) <= 0) wait_for_room(control, last_piece, slots);

    const uint64_t unit_mask = (1ull << (shape.piece_log2 + shape.slots_log2)) - 1;
    uint4 *data = data_at(context, shape, ring);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned tag = form | (brief ? 0 : STREAM_TAG_LONG) |
                         ((unsigned)(first >> shape.piece_log2) & 0xf) << STREAM_TAG_PIECE_SHIFT;
    const unsigned place = tag | (thread >> 5) << 8 |
                           (brief ? width_log2 << 13 | (site & 0xfff) << 16 | (site >> 16) << 28 : 0);
    const unsigned high = (unsigned)(base >> 32) | (brief ? (unsigned)stride << 16 : 0);
    data[first & unit_mask] = make_uint4((unsigned)base, high, place, cta);
    if (!brief) data[(first + 1) & unit_mask] = make_uint4(site, mask, (unsigned)stride, width_bytes);
  }
  if (!run) {
    first = __shfl_sync(mask, (unsigned long long)first, leader);
    ring = __shfl_sync(mask, ring, leader);
    const unsigned rank = __popc(mask & ((1u << lane) - 1));
    const uint64_t byte_mask = ((uint64_t)STREAM_UNIT_BYTES << (shape.piece_log2 + shape.slots_log2)) - 1;
    const uint64_t byte = (first + header_units) * STREAM_UNIT_BYTES + (rank << lanes_bytes_log2);
    char *place = reinterpret_cast<char *>(data_at(context, shape, ring)) + (byte & byte_mask);
    if (lanes_bytes_log2 == 1) *reinterpret_cast<short *>(place) = (short)distance;
    else if (lanes_bytes_log2 == 2) *reinterpret_cast<int *>(place) = (int)distance;
    else *reinterpret_cast<long long *>(place) = distance;
    __syncwarp(mask); // all lanes' distances are written before the leader adds below
  }

  unsigned last = 0;
  if (lane == leader) {
    const unsigned piece_units = 1u << shape.piece_log2, piece = (unsigned)(first >> shape.piece_log2);
    const unsigned room = piece_units - ((unsigned)first & (piece_units - 1));
    uint32_t *written = ring_at(context, ring)->written;
    add_written(written + (piece & (slots - 1)), units < room ? units : room);
    if (units > room) add_written(written + ((piece + 1) & (slots - 1)), units - room);
    last = units >= room;
  }
  last = __shfl_sync(mask, last, leader); // also keeps lanes from running ahead of their leader
  if (last) {
    const unsigned piece = (unsigned)(__shfl_sync(mask, (unsigned long long)first, leader) >> shape.piece_log2);
    ring = __shfl_sync(mask, ring, leader);
    drain(context, launch, ring, piece, mask);
  }
}

// Writes the records for lanes whose sites or widths differ, one for each combination. Not inlined: lanes that leave a
// loop separately remain diverged, so later accesses that they perform together would be recorded as multiple groups.
__device__ __attribute__((noinline)) void write_groups(void *context, unsigned long long launch, unsigned mask,
                                                       unsigned site, uint64_t address, unsigned width_bytes) {
  for (;;) {
    const unsigned leader = __ffs(mask) - 1;
    const unsigned leader_site = __shfl_sync(mask, site, leader);
    const unsigned leader_width = __shfl_sync(mask, width_bytes, leader);
    const unsigned matching = __ballot_sync(mask, site == leader_site && width_bytes == leader_width);
    if (matching >> lane_number() & 1) {
      write_group(context, launch, matching, leader_site, address, leader_width);
      break;
    }
    mask &= ~matching;
  }
}

} // namespace

extern "C" __device__ __attribute__((always_inline)) void
__superstep_probe_access(void *context, unsigned long long launch, unsigned site, void *address, unsigned width_bytes) {
  if (launch >> 62) { // rare, and the same for all threads of a CTA
    const StreamHeader *header = static_cast<const StreamHeader *>(context);
    if (superstep_leaves_out(launch, reinterpret_cast<const uint64_t *>(header->selection))) return;
  }
  unsigned mask = __activemask();
  const uint64_t where = reinterpret_cast<uint64_t>(address);
  if (__builtin_constant_p(site) && __builtin_constant_p(width_bytes)) {
    write_group(context, launch, mask, site, where, width_bytes);
    return;
  }
  // The compiler may have merged the probes of two sites, and widths may differ between lanes, but both are rare.
  const unsigned leader = __ffs(mask) - 1;
  const unsigned leader_site = __shfl_sync(mask, site, leader);
  const unsigned leader_width = __shfl_sync(mask, width_bytes, leader);
  if (__all_sync(mask, site == leader_site && width_bytes == leader_width))
    write_group(context, launch, mask, leader_site, where, leader_width);
  else
    write_groups(context, launch, mask, site, where, width_bytes);
}
