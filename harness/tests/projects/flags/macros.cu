#include "macros.h"
#include <cstdio>
int host_bits();
__global__ void query(int *p) { p[0] = BITS; p[1] = VERSION; p[2] = API; }
int main() {
  int *d, found[3];
  cudaMalloc(&d, sizeof found);
  query<<<1, 1>>>(d);
  cudaMemcpy(found, d, sizeof found, cudaMemcpyDeviceToHost);
  std::printf("%d %d %d:", BITS, found[0], host_bits());
  for (int arch : archs) std::printf(" %d", arch);
  return VERSION != CUDART_VERSION || found[1] != VERSION || found[2] != VERSION || API != VERSION;
}
