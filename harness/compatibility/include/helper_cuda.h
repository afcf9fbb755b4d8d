/* Replaces the CUDA samples' header of the same name for programs that do not ship it: checks CUDA calls for errors. */
#ifndef SUPERSTEP_HELPER_CUDA_H
#define SUPERSTEP_HELPER_CUDA_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

static inline void superstep_check(cudaError_t status, const char *what, const char *file, int line) {
    if (status == cudaSuccess) return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, cudaGetErrorString(status));
    exit(EXIT_FAILURE);
}
#define checkCudaErrors(call) superstep_check((call), #call, __FILE__, __LINE__)
#define getLastCudaError(message) superstep_check(cudaGetLastError(), (message), __FILE__, __LINE__)

#endif
