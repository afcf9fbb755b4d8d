// A kernel in another translation unit, to which the handle is a plain number.
#include <cuda_runtime.h>

cudaError_t read_line(cudaTextureObject_t line, int *out, int count);
