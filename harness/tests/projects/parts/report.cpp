#include "parts.h"
#include <cstdio>
#include <cuda_runtime.h>
int report(const int *numbers, int count) {
  long sum = 0;
  for (int i = 0; i < count; ++i) sum += numbers[i];
  std::printf("sum %ld\n", sum);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
