// Kernels whose device functions and variables are in other units.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "linked.h"

static __device__ float offset = 7;
static __device__ __noinline__ int place(int i) { return i ^ 1; }

static __global__ void start(float *values, float *results) {
  __shared__ float tile[row];
  copy(tile, values + blockIdx.x * row);
  __syncthreads();
  float mine = weigh(tile[place(threadIdx.x)]) + offset;
  __syncthreads();
  tile[threadIdx.x] = mine;
  __syncthreads();
  copy(results + blockIdx.x * row, tile);
  if (threadIdx.x == 0) atomicAdd(&visits, 100ull);
}

int main(int argc, char **argv) {
  int rows = argc > 1 ? atoi(argv[1]) : 4, n = rows * row, wrong = 0;
  float host_weights[4] = {1, 0.5f, 2, 0.25f}, other_offset = 3;
  unsigned long long count = 0;
  float *values, *results;
  cudaMalloc(&values, n * sizeof *values);
  cudaMalloc(&results, n * sizeof *results);
  cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights);
  cudaMemcpyToSymbol(offset, &other_offset, sizeof other_offset);
  fill(values, rows);
  start<<<rows, row>>>(values, results);
  std::vector<float> actual(n);
  cudaMemcpy(actual.data(), results, n * sizeof *results, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&count, visits, sizeof count);
  for (int i = 0; i < n; ++i) {
    float value = (float)((i ^ 1) % 1000), expected = value * host_weights[(int)value & 3] + 0.5f + other_offset;
    if (actual[i] != expected && wrong++ < 5) printf("%d: %g, expected %g\n", i, actual[i], expected);
  }
  if (count != 1 + 102ull * rows && ++wrong) printf("%llu visits, expected %llu\n", count, 1 + 102ull * rows);
  printf("%d wrong of %d, %s\n%s\n", wrong, n + 1, cudaGetErrorString(cudaGetLastError()), wrong ? "FAILED" : "PASSED");
  return wrong != 0;
}
