// Pointers to all address spaces through calls, structs, tables and choices at run time; two streams.
#include <cassert>
#include <cstdio>
#include <cstring>
#include <vector>

constexpr int n = 256, threads = 64;

__constant__ int scale[4];
__device__ int offsets[n];
__device__ int *table[2];

struct View {
  const int *data;
  int first;
  char tag[20];
};

// A function called with swapped spaces (thesis, figure 5.6).
__device__ __noinline__ void copy(int *to, const int *from) { *to = *from; }

__device__ __noinline__ int deep(const int *p, int depth) { return depth ? *p + deep(p + 1, depth - 1) : 0; }

struct Shape {
  __device__ virtual int area(const int *p) const = 0;
};
struct Square : Shape {
  __device__ int area(const int *p) const override { return p[0] * p[0]; }
};
struct Strip : Shape {
  __device__ int area(const int *p) const override { return 3 * p[0]; }
};

__global__ void gather(View view, int *out, int length, int choose) {
  __shared__ int cache[threads];
  int t = threadIdx.x, i = blockIdx.x * threads + t;
  int own[4] = {i, i + 1, i + 2, i + 3};
  copy(&cache[t], &view.data[i]);
  __syncthreads();
  copy(&out[i], &cache[(t + 1) % threads]);
  __syncthreads();

  // A phi of pointers into two spaces (figure 5.5), which depends on the data.
  int *either = (i + choose) % 3 ? &cache[t] : &out[i];
  if ((i + choose) % 5 == 0) either = &own[i % 4];
  *either += scale[i % 4];

  Square square;
  Strip strip;
  const Shape *shape = choose ? static_cast<const Shape *>(&square) : &strip;
  int sum = deep(view.data + i, i % 4) + shape->area(&offsets[i]) + table[i % 2][i] + view.first + view.tag[i % 3];
  struct Wide { int v[6]; } wide;
  memcpy(&wide, view.data + i / 8 * 8, sizeof wide);
  memcpy(out + n + i * 4, view.data + i, (i % 5) * sizeof(int) > 12 ? 12 : (i % 5) * sizeof(int));
  out[n + i * 4 + 3] = sum + wide.v[i % 6] + cache[t] + own[i % 4];
  if (i == 3) printf("device printf: %d of %d, %f\n", i, length, 0.5);
  assert(length == 7);
}

__global__ void shift(const int *in, int *out) {
  int i = blockIdx.x * threads + threadIdx.x;
  out[i] = in[(i + threads) % n];
}

int main() {
  std::vector<int> data(n + 8), offset(n), actual(5 * n);
  for (int i = 0; i < n + 8; ++i) data[i] = i * 37 % 101;
  for (int i = 0; i < n; ++i) offset[i] = i % 17;
  const int factors[4] = {1, 10, 100, 1000};
  int *in, *out, *other, wrong = 0;
  cudaMalloc(&in, data.size() * sizeof *in);
  cudaMalloc(&out, 5 * n * sizeof *out);
  cudaMalloc(&other, n * sizeof *other);
  cudaMemcpy(in, data.data(), data.size() * sizeof *in, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, 5 * n * sizeof *out);
  cudaMemcpyToSymbol(scale, factors, sizeof factors);
  cudaMemcpyToSymbol(offsets, offset.data(), n * sizeof(int));
  int *tables[2] = {in, in + 4};
  cudaMemcpyToSymbol(table, tables, sizeof tables);
  View view = {in, 5, "abc"};
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  gather<<<n / threads, threads>>>(view, out, 7, 1);
  cudaDeviceSynchronize();
  shift<<<n / threads, threads, 0, stream>>>(out, other);
  cudaStreamSynchronize(stream);
  cudaMemcpy(actual.data(), out, 5 * n * sizeof *out, cudaMemcpyDeviceToHost);
  std::vector<int> shifted(n);
  cudaMemcpy(shifted.data(), other, n * sizeof *other, cudaMemcpyDeviceToHost);

  for (int i = 0; i < n; ++i) {
    int t = i % threads, base = i - t, own[4] = {i, i + 1, i + 2, i + 3};
    int cache = data[i], word = data[base + (t + 1) % threads];
    int *either = (i + 1) % 3 ? &cache : &word;
    if ((i + 1) % 5 == 0) either = &own[i % 4];
    *either += factors[i % 4];
    int sum = 0;
    for (int k = 0; k < i % 4; ++k) sum += data[i + k];
    sum += offset[i] * offset[i] + data[i + (i % 2 ? 4 : 0)] + 5 + "abc"[i % 3];
    sum += data[i / 8 * 8 + i % 6] + cache + own[i % 4];
    bool fine = actual[i] == word && actual[n + 4 * i + 3] == sum && shifted[i] == actual[(i + threads) % n];
    for (int k = 0; k < 3; ++k) fine &= actual[n + 4 * i + k] == (k < (i % 5 < 3 ? i % 5 : 3) ? data[i + k] : 0);
    if (!fine && wrong++ < 5) printf("element %d: %d, %d; expected %d, %d\n", i, actual[i], actual[n + 4 * i + 3], word, sum);
  }
  printf("%d wrong, %s\n%s\n", wrong, cudaGetErrorString(cudaGetLastError()), wrong ? "FAILED" : "PASSED");
  return wrong != 0;
}
