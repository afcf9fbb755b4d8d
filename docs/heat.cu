#include <cstdio>
#include <cstdlib>

// One step of a heat equation on a line of n cells.
__global__ void step(const float *from, float *to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - 1)
    to[i] = 0.5f * from[i] + 0.25f * (from[i > 0 ? i - 1 : 0] + from[i + 1]);
}

int main(int argc, char **argv) {
  int steps = argc > 1 ? atoi(argv[1]) : 100, n = 1 << 16;
  float *a, *b;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  cudaMemset(a, 0, n * sizeof(float));
  for (int k = 0; k < steps; k++) {
    step<<<n / 256, 256>>>(a, b, n);
    float *t = a; a = b; b = t;
  }
  float sum = 0;
  cudaMemcpy(&sum, a + 1, sizeof(float), cudaMemcpyDeviceToHost);
  printf("%f\n", sum);
}
