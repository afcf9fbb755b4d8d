// Warp operations, atomics of every kind, static and dynamic shared memory, three-dimensional grids and CTAs.
#include <cstdio>
#include <vector>

constexpr int ctas = 2 * 3 * 2, threads = 8 * 5 * 3;  // 120 threads: the last warp is not full

struct Totals {
  int sum, smallest, largest, bits_or, bits_and, bits_xor, exchanged, counted, claimed;
  float real;
  unsigned long long wide;
};

__device__ int linear_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ int linear_cta() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

__global__ void meet(int *out, Totals *totals) {
  extern __shared__ int dynamic[];
  __shared__ int fixed[threads];
  int t = linear_thread(), id = linear_cta() * threads + t, lane = t % 32;
  unsigned active = t < 96 ? 0xffffffffu : 0x00ffffffu;
  fixed[t] = id;
  dynamic[threads - 1 - t] = 2 * id;
  __syncthreads();
  int value = fixed[(t + 1) % threads] + dynamic[t];
  for (int step = 16; step; step /= 2) {
    int other = __shfl_xor_sync(active, value, step);
    if ((lane ^ step) < (t < 96 ? 32 : 24)) value += other;
  }
  unsigned odd = __ballot_sync(active, value & 1);
  int up = __shfl_up_sync(active, value, 1), first = __shfl_sync(active, value, 0);
  int all = __all_sync(active, value >= 0), any = __any_sync(active, lane == 3);
  int even = __syncthreads_count(t % 2 == 0);
  out[id] = value + __popc(odd) + (lane ? up : 0) + first + all + 2 * any + even;
  if (t % 3 == 0) out[id] += __popc(__activemask()) > 0;

  atomicAdd(&totals->sum, t);
  atomicMin(&totals->smallest, id);
  atomicMax(&totals->largest, id);
  atomicOr(&totals->bits_or, 1 << lane % 8);
  atomicAnd(&totals->bits_and, ~(1 << lane % 4));
  atomicXor(&totals->bits_xor, id);
  atomicAdd(&totals->real, 0.25f);
  atomicAdd(&totals->wide, 1ull << 33);
  atomicInc((unsigned *)&totals->counted, 0xffffffffu);
  if (t == 0) atomicExch(&totals->exchanged, 7);
  if (id == 17) atomicCAS(&totals->claimed, 0, 99);
}

__global__ void read_back(const Totals *totals, int *out) {
  if (linear_thread() == 0) out[linear_cta()] += totals->sum;
}

int main() {
  const int n = ctas * threads;
  int *out, wrong = 0;
  Totals *totals, start = {0, 1 << 30, -1, 0, -1, 0, 0, 0, 0, 0, 0}, end;
  cudaMalloc(&out, n * sizeof *out);
  cudaMalloc(&totals, sizeof *totals);
  cudaMemset(out, 0, n * sizeof *out);
  cudaMemcpy(totals, &start, sizeof start, cudaMemcpyHostToDevice);
  meet<<<dim3(2, 3, 2), dim3(8, 5, 3), threads * sizeof(int)>>>(out, totals);
  std::vector<int> actual(n);
  cudaMemcpy(actual.data(), out, n * sizeof *out, cudaMemcpyDeviceToHost);
  cudaMemcpy(&end, totals, sizeof end, cudaMemcpyDeviceToHost);
  read_back<<<dim3(2, 3, 2), dim3(8, 5, 3)>>>(totals, out);

  int x = 0;
  for (int c = 0; c < ctas; ++c) {
    std::vector<int> value(threads);
    for (int t = 0; t < threads; ++t) value[t] = c * threads + (t + 1) % threads + 2 * (c * threads + threads - 1 - t);
    for (int step = 16; step; step /= 2) {
      std::vector<int> next = value;
      for (int t = 0; t < threads; ++t)
        if ((t % 32 ^ step) < (t < 96 ? 32 : 24)) next[t] += value[t ^ step];
      value = next;
    }
    for (int t = 0; t < threads; ++t) {
      int lane = t % 32, base = t - lane, lanes = t < 96 ? 32 : 24, odd = 0;
      for (int l = 0; l < lanes; ++l) odd += value[base + l] & 1;
      int expected = value[t] + odd + (lane ? value[t - 1] : 0) + value[base] + 1 + 2 + threads / 2 + (t % 3 == 0);
      if (actual[c * threads + t] != expected && wrong++ < 5)
        printf("CTA %d thread %d: %d, expected %d\n", c, t, actual[c * threads + t], expected);
      x ^= c * threads + t;
    }
  }
  wrong += end.sum != ctas * threads * (threads - 1) / 2;
  wrong += end.smallest != 0 || end.largest != n - 1 || end.bits_or != 255 || end.bits_and != ~15 || end.bits_xor != x;
  wrong += end.real != 0.25f * n || end.wide != (unsigned long long)n << 33 || end.counted != n;
  wrong += end.exchanged != 7 || end.claimed != 99;
  int first;
  cudaMemcpy(&first, out, sizeof first, cudaMemcpyDeviceToHost);
  wrong += first != actual[0] + end.sum;
  printf("%d wrong, %s\n%s\n", wrong, cudaGetErrorString(cudaGetLastError()), wrong ? "FAILED" : "PASSED");
  return wrong != 0;
}
