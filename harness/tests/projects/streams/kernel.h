#include <cuda_runtime.h>

__global__ static void add(int *p) { p[threadIdx.x] += 1; }

// Launches into stream 0, and returns the actual stream's ID.
static unsigned long long launch(int *p) {
  add<<<1, 32>>>(p);
  unsigned long long id = 0;
  return cudaStreamSynchronize(0) || cudaStreamGetId(0, &id) ? 0 : id;
}
