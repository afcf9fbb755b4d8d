// A traced kernel, a cuBLAS matrix multiplication, and a traced kernel that reads the product. cuBLAS is loaded with
// dlopen, so that it need not be linked; if it is missing, the program says so.
#include <cstdio>
#include <dlfcn.h>

__global__ void fill(float *a, float *b, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) a[i] = i % 7, b[i] = i % 5;
}

// Reads values that cuBLAS wrote, and values that `fill` wrote before cuBLAS ran.
__global__ void add(float *sum, const float *c, const float *a, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = c[i] + a[i];
}

template <typename T> static bool find(void *library, T &function, const char *name) {
  function = reinterpret_cast<T>(dlsym(library, name));
  return function != nullptr;
}

int main() {
  const int n = 256, count = n * n;
  float *a, *b, *c, *sum;
  for (float **memory : {&a, &b, &c, &sum}) cudaMalloc(reinterpret_cast<void **>(memory), count * sizeof(float));
  fill<<<count / 256, 256>>>(a, b, count);

  void *blas = nullptr;
  for (const char *name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
    if (!blas) blas = dlopen(name, RTLD_NOW);
  int (*create)(void **), (*destroy)(void *);
  int (*multiply)(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);
  if (!blas || !find(blas, create, "cublasCreate_v2") || !find(blas, destroy, "cublasDestroy_v2") ||
      !find(blas, multiply, "cublasSgemm_v2"))
    return printf("cuBLAS not found (set LD_LIBRARY_PATH); nothing was tested\n") < 0;
  void *handle = nullptr;
  const float one = 1, zero = 0;
  int status = create(&handle);
  for (int i = 0; i < 3 && !status; ++i) status = multiply(handle, 0, 0, n, n, n, &one, a, n, b, n, &zero, c, n);
  if (status) return printf("cuBLAS returned %d\n", status), 1;

  add<<<count / 256, 256>>>(sum, c, a, count);
  static float result[count];
  cudaMemcpy(result, sum, sizeof result, cudaMemcpyDeviceToHost);
  // Column-major: c = a * b.
  for (int row = 0; row < n; row += 17)
    for (int column = 0; column < n; column += 13) {
      float expected = (row + column * n) % 7;
      for (int k = 0; k < n; ++k) expected += float((row + k * n) % 7) * float((k + column * n) % 5);
      if (result[row + column * n] != expected) return printf("wrong at %d, %d\n", row, column), 2;
    }
  destroy(handle);
  printf("correct\n");
  return cudaGetLastError() != cudaSuccess;
}
