#include <cassert>
#include <cstdio>
__global__ void count(int *p) {
  assert(p == nullptr); // NDEBUG applies to host and device code
  p[threadIdx.x] = threadIdx.x;
}
int main() {
  int *d, h[32];
  cudaMalloc(&d, sizeof h);
  count<<<1, 32>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  std::printf("%d\n", h[31]);
  return h[31] != 31;
}
