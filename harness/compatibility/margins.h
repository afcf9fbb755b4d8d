/* Space around each allocation, for programs that read slightly before the start or past the end of their arrays and ignore the value. A GPU
   tolerates this if other memory is mapped there; Superstep reports an access outside all allocations as an error. With
   -DSUPERSTEP_MARGIN_BYTES=n, where n is a multiple of 256, `cudaMalloc` adds n bytes on either side. */
#ifndef SUPERSTEP_MARGINS_H
#define SUPERSTEP_MARGINS_H
#ifdef SUPERSTEP_MARGIN_BYTES

#include <cuda_runtime.h>
#include <set>

static_assert(SUPERSTEP_MARGIN_BYTES % 256 == 0, "SUPERSTEP_MARGIN_BYTES must be a multiple of 256, which keeps allocations aligned");

/* Addresses returned to the program, shared by all its translation units. */
inline std::set<void *> &superstep_with_margins() {
    static std::set<void *> addresses;
    return addresses;
}

template <class T> static inline cudaError_t superstep_malloc(T **place, size_t bytes) {
    char *start = nullptr;
    if (place == nullptr || bytes == 0) return cudaMalloc((void **)place, bytes);
    const cudaError_t status = cudaMalloc((void **)&start, bytes + 2 * (size_t)SUPERSTEP_MARGIN_BYTES);
    if (status != cudaSuccess) return status;
    *place = (T *)(start + SUPERSTEP_MARGIN_BYTES);
    superstep_with_margins().insert((void *)*place);
    return cudaSuccess;
}

static inline cudaError_t superstep_free(void *address) {
    if (superstep_with_margins().erase(address) == 0) return cudaFree(address);
    return cudaFree((char *)address - SUPERSTEP_MARGIN_BYTES);
}

#define cudaMalloc superstep_malloc
#define cudaFree superstep_free

#endif
#endif
