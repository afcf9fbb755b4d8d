// Headers that behave differently when device code is linked: in that case, CUB and Thrust launch kernels from kernels.
#include <cooperative_groups.h>
#include <cub/cub.cuh>
#include <cuda/atomic>
#include <cuda_fp16.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <cstdio>

__global__ void count(int *p) {
  auto grid = cooperative_groups::this_grid();
  if (grid.size() == 64 && __half2float(__float2half(2.0f)) == 2.0f) atomicAdd(p, 1);
}

int main() {
  thrust::device_vector<int> numbers(1000);
  for (int i = 0; i < 1000; i++) numbers[i] = (i * 37) % 1000;
  thrust::sort(numbers.begin(), numbers.end());
  const int sum = thrust::reduce(numbers.begin(), numbers.end(), 0, [] __host__ __device__(int a, int b) { return a + b; });
  int *from = thrust::raw_pointer_cast(numbers.data()), *to, found;
  cudaMalloc(&to, sizeof(int));
  size_t bytes = 0;
  void *memory = nullptr;
  cub::DeviceReduce::Sum(memory, bytes, from, to, 1000);
  cudaMalloc(&memory, bytes);
  cub::DeviceReduce::Sum(memory, bytes, from, to, 1000);
  count<<<2, 32>>>(to);
  cudaMemcpy(&found, to, sizeof found, cudaMemcpyDeviceToHost);
  std::printf("%d %d %d", sum, found, (int)numbers[999]);
}
