// A kernel of another translation unit, which gets the handle as a number like any other.
#include <cuda_runtime.h>

cudaError_t read_line(cudaTextureObject_t line, int *out, int count);
