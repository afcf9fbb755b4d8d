// Runs after each traced kernel, with one warp per ring. Copies pieces that are not full to the host, starts new
// pieces, and tells the host that the launch has ended. stream_flush.ptx, which libsuperstep_cuda.so embeds and the
// driver loads, is compiled from this file (tests/device_code.rs compares them).

#include "stream_drain.cuh"

extern "C" __global__ void __superstep_stream_flush(void *context, unsigned long long launch) {
  using namespace stream;
  const Shape shape(launch);
  const unsigned ring = blockIdx.x;
  StreamRing *control = ring_at(context, ring);
  const uint64_t head = control->head;
  const unsigned used = (unsigned)head & ((1u << shape.piece_log2) - 1);
  if (used != 0) {
    const unsigned piece = (unsigned)(head >> shape.piece_log2);
    copy_piece(context, launch, ring, piece, used, 0xffffffffu, threadIdx.x, 32);
    if (threadIdx.x == 0) {
      const unsigned rest = (1u << shape.piece_log2) - used;
      control->head = head + rest;
      control->written[piece & ((1u << shape.slots_log2) - 1)] += rest;
      free_piece(control, piece);
    }
  }
  if (threadIdx.x != 0) return;
  StreamHeader *header = static_cast<StreamHeader *>(context);
  __threadfence_system(); // This ring's last piece is announced before the warp arrives.
  const unsigned long long before = atomicAdd(reinterpret_cast<unsigned long long *>(&header->arrived), 1ull);
  if (before + 1 == gridDim.x) { // This is the last warp to arrive.
    __threadfence_system();
    header->arrived = 0;
    const uint64_t serial = load_relaxed(&header->serial) + 1;
    header->serial = serial;
    store_to_host(reinterpret_cast<uint64_t *>(header->ended), serial); // reports the launch's end
  }
}
