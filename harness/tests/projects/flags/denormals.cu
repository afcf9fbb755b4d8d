#include <cstdio>
__global__ void compute(float *p, float a, float b, float tiny, double d) {
  float results[] = {a * b, a + tiny, a * b + tiny, (float)d, tiny > 0.0f ? 1.0f : 0.0f, fmaxf(tiny, 0.0f), (float)(d * 1e30)};
  for (int i = 0; i < 7; ++i) p[i] = results[i];
}
int main() {
  float *p, found[7];
  cudaMalloc(&p, sizeof found);
  compute<<<1, 1>>>(p, 1e-30f, 1e-10f, 1e-40f, 1e-40);
  cudaMemcpy(found, p, sizeof found, cudaMemcpyDeviceToHost);
  for (float number : found) std::printf("%.2g ", number);
}
