// 32-bit indices into shared memory that wrap below 0: shared addresses are 32 bits wide on a GPU, so such an index refers to the
// previous element if the compiler sees that the pointer points to shared memory. Each kernel is named after the path by which the pointer
// reaches the access.
//
// Global memory: one store by each of the 32 threads in each of the 4 kernels.
#include <cstdio>

__device__ __noinline__ int read(const int *p, unsigned index) { return p[index]; }

__global__ void through_function(int *out, unsigned minus_one) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = 3 * t;
  __syncthreads();
  out[t] = read(s + t + 1, minus_one);
}

__global__ void through_loop(int *out, unsigned minus_one) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = 3 * t;
  __syncthreads();
  int sum = 0;
  for (int *p = s + 1; p != s + t + 2; ++p)
    sum += p[minus_one];
  out[t] = sum;
}

__global__ void through_choice(int *out, unsigned minus_one) {
  __shared__ int s[64];
  __shared__ int other[64];
  const int t = threadIdx.x;
  s[t] = 3 * t;
  other[t] = 5 * t;
  __syncthreads();
  int *p = t % 2 ? s : other;
  out[t] = p[t + 1 + minus_one] + (p + 1)[minus_one + t];
}

__global__ void through_store(int *out, unsigned minus_one) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  int *p = s + t + 1;
  p[minus_one] = 7 * t;
  __syncthreads();
  out[t] = s[31 - t];
}

int main() {
  int numbers[32], *out;
  cudaMalloc(&out, sizeof numbers);
  bool failed = false;
  auto check = [&](const char *name, int expected) {
    const cudaError_t error = cudaMemcpy(numbers, out, sizeof numbers, cudaMemcpyDeviceToHost);
    int sum = 0;
    for (int number : numbers)
      sum += number;
    std::printf("%s: %s, %d\n", name, cudaGetErrorName(error), sum);
    failed |= error != cudaSuccess || sum != expected;
  };
  const unsigned minus_one = ~0u;
  // The numbers 0 to 31 add up to 496, the odd ones to 256, the even ones to 240.
  through_function<<<1, 32>>>(out, minus_one);
  check("function", 3 * 496);
  through_loop<<<1, 32>>>(out, minus_one);
  check("loop", 3 * 32 * 31 * 33 / 6);
  through_choice<<<1, 32>>>(out, minus_one);
  check("choice", 2 * (3 * 256 + 5 * 240));
  through_store<<<1, 32>>>(out, minus_one);
  check("store", 7 * 496);
  std::puts(failed ? "FAILED" : "PASSED");
  return failed;
}
