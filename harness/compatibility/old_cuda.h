/* Included before every CUDA source: declarations that nvcc provides by default and Clang does not. These generate no code unless
   a program uses them. */
#ifndef SUPERSTEP_OLD_CUDA_H
#define SUPERSTEP_OLD_CUDA_H

/* nvcc's own headers include these. Clang's <new> declares the device operators. Without math.h, `exp` of a float returns a double in host
 * code. */
#include <math.h>
#include <new>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache_hints.h"
#include "margins.h"
#include "nv_atomics.h"
#include "symbols.h"

/* `min` and `max` for host code, in the global namespace, including mixed types. Clang declares them only for the device. */
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

/* Functions that nvcc's headers overload for floats on the host, unlike the C library. */
#define SUPERSTEP_HOST_FLOAT(NAME) \
    static inline __attribute__((host, unused)) float NAME(float x) { return NAME##f(x); }
SUPERSTEP_HOST_FLOAT(exp10)
SUPERSTEP_HOST_FLOAT(j0)
SUPERSTEP_HOST_FLOAT(j1)
SUPERSTEP_HOST_FLOAT(y0)
SUPERSTEP_HOST_FLOAT(y1)
#undef SUPERSTEP_HOST_FLOAT
static inline __attribute__((host, unused)) float jn(int n, float x) { return jnf(n, x); }
static inline __attribute__((host, unused)) float yn(int n, float x) { return ynf(n, x); }

/* Driver functions that runtime API programs sometimes call, implemented without libcuda. */
#include <cuda.h>
static inline CUresult superstep_memory_info(size_t *available, size_t *total) {
    return cudaMemGetInfo(available, total) == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}
#undef cuMemGetInfo
#define cuMemGetInfo superstep_memory_info

/* Clang declares these for device code and leaves them undefined. */
static inline __device__ double nan(const char *tag) { return __nv_nan((const signed char *)tag); }
static inline __device__ float nanf(const char *tag) { return __nv_nanf((const signed char *)tag); }

/* Clang ignores this keyword with just a warning, and gives host and device separate variables. */
#undef __managed__
#define __managed__ _Pragma("GCC error \"Clang does not support managed variables in CUDA; use cudaMallocManaged\"")

/* Makes the cooperative groups headers define clusters; Clang has all the intrinsics they use. */
#define _CG_CLUSTER_INTRINSICS_AVAILABLE

/* Annotations for the instrumenter, for two attributes that Clang's IR lacks. Clang also places `const` variables in constant memory; nvcc
 * places only `__constant__` variables there (instrument/src/semantics/constants.rs). Clang parses cluster dimensions but drops them
 * (instrument/src/prepare.rs). */
#ifdef __CUDA_ARCH__
#undef __constant__
#define __constant__ __attribute__((constant, annotate("superstep-constant")))
#undef __cluster_dims__
#define __cluster_dims__(...) __attribute__((cluster_dims(__VA_ARGS__), annotate("superstep-cluster", __VA_ARGS__)))
#endif

#endif
