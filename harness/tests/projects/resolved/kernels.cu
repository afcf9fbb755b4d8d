#define JOIN(a, b) a##_##b
#define CONCAT(a, b) JOIN(a, b)
__device__ int CONCAT(NAME, times)(int number);

// Both libraries have this kernel.
template <class T>
__global__ void add(T *p, T number) {
  p[threadIdx.x] += number;
}

__global__ void CONCAT(NAME, kernel)(int *p) { p[threadIdx.x] = CONCAT(NAME, times)(threadIdx.x + 1); }

int NAME() {
  int *p, found[32];
  cudaMalloc(&p, sizeof found);
  CONCAT(NAME, kernel)<<<1, 32>>>(p);
  add<<<1, 32>>>(p, 100);
  cudaMemcpy(found, p, sizeof found, cudaMemcpyDeviceToHost);
  return found[31];
}
