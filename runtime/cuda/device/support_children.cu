// CUDA's device runtime. Queues a kernel's requests for the host, which carries them out after the kernel has finished
// (src/recorder/launch/children.rs).

#include "children.h"

namespace {

constexpr int memory_allocation = 2, pending_count_exceeded = 69; // cudaError_t

__device__ uint64_t linear_cta() {
  return blockIdx.x + (uint64_t)gridDim.x * (blockIdx.y + (uint64_t)gridDim.y * blockIdx.z);
}

// Adds the `step` of each active lane with a single addition. Lanes get their places in lane order.
__device__ uint64_t reserve(uint64_t *count, uint64_t step) {
  const unsigned mask = __activemask();
  unsigned lane, below;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  uint64_t before = 0, own = 0, all = 0;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const unsigned long long theirs = __shfl_sync(mask, (unsigned long long)step, __ffs(rest) - 1);
    own += 1u << (__ffs(rest) - 1) & below ? theirs : 0;
    all += theirs;
  }
  const int leader = __ffs(mask) - 1;
  if (lane == leader) before = atomicAdd(reinterpret_cast<unsigned long long *>(count), (unsigned long long)all);
  return __shfl_sync(mask, (unsigned long long)before, leader) + own;
}

} // namespace

extern "C" {

// The device's queue, which the host sets in each module.
__device__ SuperstepChildren *__superstep_children;

static __device__ int add(const SuperstepChild &child) {
  SuperstepChildren *queue = __superstep_children;
  const uint64_t place = reserve(&queue->used, 1);
  if (place >= queue->capacity) return pending_count_exceeded;
  queue->children[place] = child;
  return 0;
}

__device__ void *__superstep_child_arguments(size_t alignment, size_t bytes) {
  SuperstepChildren *queue = __superstep_children;
  // No argument requires an alignment larger than 16 bytes.
  const uint64_t place = reserve(&queue->used_bytes, (bytes + 15) / 16 * 16);
  return place + bytes <= queue->capacity_bytes ? queue->bytes + place : nullptr;
}

__device__ int __superstep_child_launch(void *function, void *arguments, const dim3 *grid, const dim3 *block, unsigned shared_bytes,
                                        void *stream) {
  SuperstepChildren *queue = __superstep_children;
  SuperstepChild child = {SUPERSTEP_CHILD_LAUNCH, (uint32_t)(uint64_t)stream, linear_cta(), (uint64_t)function};
  child.arguments = arguments ? (uint8_t *)arguments - queue->bytes : 0;
  child.bytes = shared_bytes;
  child.grid[0] = grid->x, child.grid[1] = grid->y, child.grid[2] = grid->z;
  child.block[0] = block->x, child.block[1] = block->y, child.block[2] = block->z;
  return add(child);
}

__device__ int __superstep_child_copy(void *to, const void *from, size_t bytes, int kind, void *stream) {
  SuperstepChild child = {SUPERSTEP_CHILD_COPY, (uint32_t)(uint64_t)stream, linear_cta()};
  child.to = (uint64_t)to, child.from = (uint64_t)from, child.bytes = bytes;
  return add(child);
}

__device__ int __superstep_child_fill(void *address, int value, size_t bytes, void *stream) {
  SuperstepChild child = {SUPERSTEP_CHILD_FILL, (uint32_t)(uint64_t)stream, linear_cta()};
  child.to = (uint64_t)address, child.from = (uint8_t)value, child.bytes = bytes;
  return add(child);
}

// Small numbers are CUDA's predefined streams.
__device__ int __superstep_child_stream_create(void **place, unsigned flags) {
  *place = (void *)(0x100 + reserve(&__superstep_children->streams, 1));
  return 0;
}

__device__ int __superstep_child_stream_destroy(void *stream) { return 0; }

// There is never a last error, since a rejected launch returns its error.
__device__ int __superstep_child_error() { return 0; }

__device__ const char *__superstep_child_error_name(int code) {
  return code == 0 ? "cudaSuccess"
       : code == memory_allocation ? "cudaErrorMemoryAllocation"
       : code == pending_count_exceeded ? "cudaErrorLaunchPendingCountExceeded" : "cudaErrorUnknown";
}

__device__ const char *__superstep_child_error_string(int code) {
  return code == 0 ? "no error"
       : code == memory_allocation ? "out of memory"
       : code == pending_count_exceeded ? "too many launches in one kernel" : "unknown error";
}

__device__ int __superstep_child_device(int *place) {
  *place = 0;
  return 0;
}

__device__ int __superstep_child_malloc(void **place, size_t bytes) {
  *place = malloc(bytes);
  return *place ? 0 : memory_allocation;
}

__device__ int __superstep_child_free(void *address) {
  free(address);
  return 0;
}

} // extern "C"
