// Every part of the project works on 1000 numbers; harness/tests/build_systems/projects.rs lists the access counts.
#include "parts.h"
#include <cstdio>
#include <omp.h>
#include <type_traits>
#include <vector>

__device__ int weight(int i); // weights.cu

__global__ void add_weights(int *numbers, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] += weight(i);
}

template <typename Function>
__global__ void apply(int *numbers, int count, Function function)
  requires std::is_trivially_copyable_v<Function>
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = function(numbers[i]);
}

constexpr int at_most(int number, int limit) { return number < limit ? number : limit; }

int main() {
  const int count = 1000, ctas = (count + 127) / 128;
  std::vector<int> host(count);
#ifndef __CUDA_ARCH__
#ifndef _OPENMP
#error host code is compiled without OpenMP
#endif
#pragma omp parallel for
#endif
  for (int i = 0; i < count; ++i) host[i] = i * (omp_get_num_threads() > 0);
  int *one, *two;
  cudaMalloc(&one, count * sizeof(int));
  cudaMalloc(&two, count * sizeof(int));
  cudaMemcpy(one, host.data(), count * sizeof(int), cudaMemcpyHostToDevice);
  scale(one, count, 3);
  shift(two, one, count);
  add_weights<<<ctas, 128>>>(two, count);
  int limit = 1 << 20;
  apply<<<ctas, 128>>>(two, count, [=] __device__(int number) { return at_most(number, limit); });
  if (cudaError_t error = cudaDeviceSynchronize()) return std::printf("%s\n", cudaGetErrorString(error)), 1;
  cudaMemcpy(host.data(), two, count * sizeof(int), cudaMemcpyDeviceToHost);
  return report(host.data(), count);
}
