// The thesis' warp-scope producer (figure 5.9): the lanes that are active together reserve positions in a bin with one
// atomic addition, write one 24-byte record each, and acknowledge with another addition. docs/protocol-thesis.md says
// how this differs from the figure, and argues that nothing is lost and nothing waits for ever.

#include "context.h"
#include "selection.h"

namespace {

// A read of a word that the host stores, ordered before everything this thread does afterwards.
__device__ inline unsigned long long load_from_host(const uint64_t *word) {
  unsigned long long value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

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

// The host reads what is added to, hence the scope; on an H200 it costs no more than the device's own.
__device__ inline unsigned long long add(uint64_t *word, unsigned long long increment) {
  return atomicAdd_system(reinterpret_cast<unsigned long long *>(word), increment);
}

} // namespace

extern "C" __device__ __attribute__((always_inline)) void
__superstep_probe_access(void *context, unsigned long long launch, unsigned site, void *address, unsigned width_bytes) {
  const TraceContext *trace = static_cast<const TraceContext *>(context);
  // The launch's number is not needed: one launch at a time uses a stream's bins, so the host knows it.
  if (launch >> 62 && superstep_leaves_out(launch, trace->selection)) return;

  // The lanes that execute this instruction together; they stay a group by naming each other in every `sync` below,
  // whatever the scheduler does with the rest of the warp.
  const unsigned mask = __activemask();
  const unsigned lane = lane_number();
  const unsigned leader = __ffs(mask) - 1;
  const unsigned rank = __popc(mask & ((1u << lane) - 1));
  const unsigned group = __popc(mask);

  // The leader's SM decides for all: a warp may be moved between two reads of %smid.
  const unsigned sm = __shfl_sync(mask, sm_number(), leader);
  const unsigned bin_number = sm & trace->bin_mask;
  SuperstepBin *bin = trace->bins + bin_number;
  const unsigned long long bin_records = trace->bin_records;

  unsigned long long first = 0;
  if (lane == leader) first = add(&bin->reserved, group);
  first = __shfl_sync(mask, first, leader);
  const unsigned long long position = first + rank;
  const unsigned long long end = first + group;

  // Write what fits into the bin's present window, acknowledge it, and wait for the host to move the window while
  // something is left. Usually everything fits and this runs once.
  unsigned long long written = first;
  do {
    unsigned long long limit = 0;
    if (lane == leader) {
      // Reads of one word of host memory go over the bus one after the other, a microsecond or two each. Hundreds of warps
      // that ask all the time would wait for each other's questions and starve the host's copies. So they ask ever
      // more seldom, and the more windows must pass before their turn, the more seldom.
      unsigned pause_ns = 1024;
      while ((limit = load_from_host(&bin->released) + bin_records) <= written) {
        const unsigned long long wait_ns = pause_ns * (1 + ((written - limit) >> trace->bin_records_log2));
        __nanosleep(wait_ns < 1000000 ? (unsigned)wait_ns : 1000000u); // the longest that there is
        if (pause_ns < 32768) pause_ns *= 2;
      }
    }
    limit = __shfl_sync(mask, limit, leader);
    const unsigned long long upto = limit < end ? limit : end;

    if (position >= written && position < upto) {
      const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
      const unsigned cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
      const unsigned long long lap = (position >> trace->bin_records_log2) + 1;
      const unsigned low = thread | (sm & SUPERSTEP_DETAIL_SM_MASK) << SUPERSTEP_DETAIL_SM_SHIFT |
                           (group - 1) << SUPERSTEP_DETAIL_GROUP_SHIFT |
                           (unsigned)(lap & 1) << SUPERSTEP_DETAIL_LAP_SHIFT |
                           (unsigned)(rank == 0) << SUPERSTEP_DETAIL_LEADER_SHIFT;
      volatile SuperstepRecord *record =
          trace->records + bin_number * bin_records + (position & (bin_records - 1));
      record->cta_site = (unsigned long long)cta << 32 | site;
      record->address = reinterpret_cast<unsigned long long>(address);
      record->detail = (unsigned long long)width_bytes << SUPERSTEP_DETAIL_WIDTH_SHIFT | low;
    }
    __threadfence_system(); // each lane's record reaches the host before …
    __syncwarp(mask);       // … all of them together before …
    if (lane == leader) add(&bin->acknowledged, upto - written); // … the host learns of it.
    written = upto;
  } while (written < end);
}
