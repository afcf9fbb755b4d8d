// Effects of preprocessor flags on host and device code.
#include <cstdio>
#if __has_include("value.h")
#include "value.h"
#endif
#ifndef VALUE
#define VALUE -1
#endif
#ifdef _OPENMP
#define HAS_OPENMP 1
#else
#define HAS_OPENMP 0
#endif
#ifdef __OPTIMIZE__
#define IS_OPTIMISED 1
#else
#define IS_OPTIMISED 0
#endif
#ifdef __CUDA_ARCH__
#define ARCH __CUDA_ARCH__
#else
#define ARCH 0
#endif
#define NUMBERS {VALUE, HAS_OPENMP, (int)(__cplusplus / 100), ARCH}
__global__ void query(int *p) {
  int numbers[] = NUMBERS;
  for (int i = 0; i < 4; ++i) p[i] = numbers[i];
}
int main() {
  int *d, a_local_variable[] = NUMBERS, device[4];
  cudaMalloc(&d, sizeof device);
  query<<<1, 1>>>(d);
  cudaMemcpy(device, d, sizeof device, cudaMemcpyDeviceToHost);
  for (int n : a_local_variable) std::printf("%d ", n);
  for (int n : device) std::printf("%d ", n);
  std::printf("%d\n", IS_OPTIMISED);
}
