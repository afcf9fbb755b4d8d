// Copies a piece of a ring to the host, for the probe and for the kernel that empties the rings after a launch.

#ifndef SUPERSTEP_STREAM_DRAIN_CUH
#define SUPERSTEP_STREAM_DRAIN_CUH

#include "stream.h"

namespace stream {

__device__ inline unsigned long long load_relaxed(const uint64_t *word) {
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

__device__ inline unsigned long long load_from_host(const uint64_t *word) {
  unsigned long long value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

__device__ inline void store_to_host(uint64_t *word, unsigned long long value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

// The shape of the rings, from the second trailing parameter.
struct Shape {
  unsigned rings, piece_log2, slots_log2;
  __device__ explicit Shape(unsigned long long launch)
      : rings((unsigned)(launch >> STREAM_RINGS_SHIFT & STREAM_RINGS_MASK) + 1),
        piece_log2((unsigned)(launch >> STREAM_PIECE_SHIFT) & STREAM_PIECE_MASK),
        slots_log2((unsigned)(launch >> STREAM_SLOTS_SHIFT) & STREAM_SLOTS_MASK) {}
};

__device__ inline StreamRing *ring_at(void *context, unsigned ring) {
  return reinterpret_cast<StreamRing *>(static_cast<StreamHeader *>(context) + 1) + ring;
}

// Returns the first unit of a ring's data.
__device__ inline uint4 *data_at(void *context, const Shape &shape, unsigned ring) {
  uint4 *first = reinterpret_cast<uint4 *>(ring_at(context, shape.rings));
  return first + ((unsigned long long)ring << (shape.piece_log2 + shape.slots_log2));
}

// Copies the first `units` units of piece `piece` to the host. All lanes in `mask` call this function together, each
// with its `rank`. Everything that was written to the piece must be visible to the caller.
__device__ inline void copy_piece(void *context, unsigned long long launch, unsigned ring, unsigned piece, unsigned units,
                             unsigned mask, unsigned rank, unsigned lanes) {
  const Shape shape(launch);
  const StreamHeader *header = static_cast<const StreamHeader *>(context);
  StreamRing *control = ring_at(context, ring);
  const unsigned host_slots = (unsigned)header->host_slots;
  if (rank == 0) {
    // Waits for room on the host. Reads of the host's counter cross the bus, so the last value is cached, and one warp
    // per piece polls at growing intervals.
    unsigned pause_ns = 1000;
    while (piece - (unsigned)load_relaxed(&control->host_limit) >= host_slots) {
      const unsigned long long taken = load_from_host(reinterpret_cast<const uint64_t *>(header->taken) + ring * 16);
      if (piece - (unsigned)taken < host_slots) {
        *(volatile uint64_t *)&control->host_limit = taken;
        break;
      }
      __nanosleep(pause_ns);
      if (pause_ns < 64000) pause_ns *= 2;
    }
  }
  __syncwarp(mask);

  const unsigned slot = piece & ((1u << shape.slots_log2) - 1), host_slot = piece & (host_slots - 1);
  const uint4 *from = data_at(context, shape, ring) + ((unsigned long long)slot << shape.piece_log2);
  const unsigned long long place = (unsigned long long)ring * host_slots + host_slot;
  uint4 *to = reinterpret_cast<uint4 *>(header->data) + (place << shape.piece_log2);
  unsigned unit = rank;
  for (; unit + 3 * lanes < units; unit += 4 * lanes) {
    const uint4 a = __ldcg(from + unit), b = __ldcg(from + unit + lanes);
    const uint4 c = __ldcg(from + unit + 2 * lanes), d = __ldcg(from + unit + 3 * lanes);
    to[unit] = a;
    to[unit + lanes] = b;
    to[unit + 2 * lanes] = c;
    to[unit + 3 * lanes] = d;
  }
  for (; unit < units; unit += lanes) to[unit] = __ldcg(from + unit);

  __threadfence_system(); // each lane's part reaches the host before …
  __syncwarp(mask);       // … all parts together before …
  if (rank == 0) {        // … the piece is announced.
    // The device counts launches so that the arguments of a kernel in a CUDA graph are the same each time.
    uint64_t *ready = reinterpret_cast<uint64_t *>(header->ready) + 2 * place;
    *(volatile uint64_t *)(ready + 1) = load_relaxed(&header->serial);
    store_to_host(ready, (unsigned long long)units << 32 | (piece + 1));
  }
}

// Frees piece `piece` of a ring, so that its slot can be written again. Called by one thread.
__device__ inline void free_piece(StreamRing *control, unsigned piece) {
  __threadfence();
  unsigned long long seen = load_relaxed(&control->window), next;
  do {
    unsigned first = (unsigned)seen;
    unsigned bits = (unsigned)(seen >> 32) | 1u << (piece - first);
    while (bits & 1) {
      bits >>= 1;
      ++first;
    }
    next = (unsigned long long)bits << 32 | first;
    const unsigned long long before = seen;
    asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(seen)
                 : "l"(&control->window), "l"(before), "l"(next)
                 : "memory");
    if (seen == before) break;
  } while (true);
}

} // namespace stream

#endif
