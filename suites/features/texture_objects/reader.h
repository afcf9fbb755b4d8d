// A kernel in another translation unit, which sees the handle as a plain integer.
#include <cuda_runtime.h>

cudaError_t read_line(cudaTextureObject_t line, int *out, int count);
