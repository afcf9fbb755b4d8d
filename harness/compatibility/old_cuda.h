/* Included in front of every CUDA source: what nvcc declares without being asked, and Clang does not.
   Nothing here generates code unless a program uses it. */
#ifndef SUPERSTEP_OLD_CUDA_H
#define SUPERSTEP_OLD_CUDA_H

/* nvcc's own headers bring these in. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache_hints.h"
#include "margins.h"
#include "nv_atomics.h"
#include "symbols.h"

/* `min` and `max` for host code, in the global namespace, also for mixed types. Clang declares them for the device only. */
#define SUPERSTEP_HOST_MIN_MAX(RESULT, A, B) \
    static inline __attribute__((host, unused)) RESULT min(const A a, const B b) { return (RESULT)a < (RESULT)b ? (RESULT)a : (RESULT)b; } \
    static inline __attribute__((host, unused)) RESULT max(const A a, const B b) { return (RESULT)a > (RESULT)b ? (RESULT)a : (RESULT)b; }
#define SUPERSTEP_HOST_MIN_MAX_INTEGERS(SIGNED, UNSIGNED) \
    SUPERSTEP_HOST_MIN_MAX(SIGNED, SIGNED, SIGNED) \
    SUPERSTEP_HOST_MIN_MAX(UNSIGNED, UNSIGNED, UNSIGNED) \
    SUPERSTEP_HOST_MIN_MAX(UNSIGNED, SIGNED, UNSIGNED) \
    SUPERSTEP_HOST_MIN_MAX(UNSIGNED, UNSIGNED, SIGNED)
SUPERSTEP_HOST_MIN_MAX_INTEGERS(int, unsigned int)
SUPERSTEP_HOST_MIN_MAX_INTEGERS(long, unsigned long)
SUPERSTEP_HOST_MIN_MAX_INTEGERS(long long, unsigned long long)
SUPERSTEP_HOST_MIN_MAX(float, float, float)
SUPERSTEP_HOST_MIN_MAX(double, double, double)
SUPERSTEP_HOST_MIN_MAX(double, float, double)
SUPERSTEP_HOST_MIN_MAX(double, double, float)
#undef SUPERSTEP_HOST_MIN_MAX_INTEGERS
#undef SUPERSTEP_HOST_MIN_MAX

/* The driver's functions that programs of the runtime call now and then, without libcuda. */
#include <cuda.h>
static inline CUresult superstep_memory_info(size_t *available, size_t *total) {
    return cudaMemGetInfo(available, total) == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}
#undef cuMemGetInfo
#define cuMemGetInfo superstep_memory_info

/* Clang declares these for device code and leaves them undefined. */
static inline __device__ double nan(const char *tag) { return __nv_nan((const signed char *)tag); }
static inline __device__ float nanf(const char *tag) { return __nv_nanf((const signed char *)tag); }

/* Clang only warns that it ignores the word, and gives host and device a variable each. */
#undef __managed__
#define __managed__ _Pragma("GCC error \"Clang has no managed variables for CUDA; use cudaMallocManaged\"")

/* Clang puts what is `const` into constant memory too. nvcc does so only with what says `__constant__`: the instrumenter looks for this
   annotation (instrument/src/constants.rs). */
#ifdef __CUDA_ARCH__
#undef __constant__
#define __constant__ __attribute__((constant, annotate("superstep-constant")))
#endif

#endif
