// The thesis's warp-scope producer (figure 5.9): the lanes that are active together reserve positions in a bin with an
// atomic addition, write a 24-byte record each, and acknowledge the records with a second one.
// docs/protocol-thesis.md explains how this differs from the figure, and proves that no record is lost and no thread
// waits forever.

#include "context.h"
#include "selection.h"

namespace {

// Loads a word that the host stores, with acquire ordering.
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

// Adds to a word that the host reads, hence the system scope. On an H200, it costs no more than device scope.
__device__ inline unsigned long long add(uint64_t *word, unsigned long long increment) {
  return atomicAdd_system(reinterpret_cast<unsigned long long *>(word), increment);
}

} // namespace

extern "C" __device__ __attribute__((always_inline)) void
__superstep_probe_access(void *context, unsigned long long launch, unsigned site, void *address, unsigned width_bytes) {
  const TraceContext *trace = static_cast<const TraceContext *>(context);
  // The launch number is not needed, since only one launch at a time uses a stream's bins.
  if (launch >> 62 && superstep_leaves_out(launch, trace->selection)) return;

  // The lanes that execute this instruction together. They remain a group, regardless of what the scheduler does with
  // the rest of the warp, since every `sync` below names them.
  const unsigned mask = __activemask();
  const unsigned lane = lane_number();
  const unsigned leader = __ffs(mask) - 1;
  const unsigned rank = __popc(mask & ((1u << lane) - 1));
  const unsigned group = __popc(mask);

  // All lanes use the leader's SM, since a warp may be moved between two reads of %smid.
  const unsigned sm = __shfl_sync(mask, sm_number(), leader);
  const unsigned bin_number = sm & trace->bin_mask;
  SuperstepBin *bin = trace->bins + bin_number;
  const unsigned long long bin_records = trace->bin_records;

  unsigned long long first = 0;
  if (lane == leader) first = add(&bin->reserved, group);
  first = __shfl_sync(mask, first, leader);
  const unsigned long long position = first + rank;
  const unsigned long long end = first + group;

  // Writes the records that fit into the bin's current window and acknowledges them. While any are left, waits for the
  // host to move the window. Usually, all of them fit, and this loop runs once.
  unsigned long long written = first;
  do {
    unsigned long long limit = 0;
    if (lane == leader) {
      // Reads of the same word in host memory cross the bus sequentially and take a microsecond or two each. Hundreds
      // of warps that poll continuously would wait for each other and starve the host's copies. Therefore, the polling
      // intervals grow over time, and with the number of windows that precede a warp's own.
      unsigned pause_ns = 1024;
      while ((limit = load_from_host(&bin->released) + bin_records) <= written) {
        const unsigned long long wait_ns = pause_ns * (1 + ((written - limit) >> trace->bin_records_log2));
        __nanosleep(wait_ns < 1000000 ? (unsigned)wait_ns : 1000000u); // at most 1 ms
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
    __threadfence_system(); // The lane's record is visible to the host
    __syncwarp(mask);       // once every lane gets here;
    if (lane == leader) add(&bin->acknowledged, upto - written); // only then are the records acknowledged.
    written = upto;
  } while (written < end);
}
