// Tensor-core matrices: nvcuda::wmma with all types, shapes, layouts and strides, and the underlying PTX instructions. All numbers
// are small integers, so that sums are the same in any order.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;
using wmma::experimental::precision::b1;
using wmma::experimental::precision::s4;

static int failures;

static void report(const char *name, long long wrong) {
  printf("%-28s %s\n", name, wrong ? "FAILED" : "ok");
  failures += wrong != 0;
}

template <class T> static T *upload(const std::vector<T> &values) {
  T *device;
  cudaMalloc(&device, values.size() * sizeof(T));
  cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}

template <class T> static std::vector<T> download(const T *device, size_t count) {
  std::vector<T> values(count);
  cudaMemcpy(values.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost);
  return values;
}

static unsigned state = 1;
static int random_number(int below) {
  state = state * 1664525u + 1013904223u;
  return (int)(state >> 16) % below;
}

template <class T> static T number(int value) { return (T)(float)value; }

// ---- nvcuda::wmma ----

constexpr int rows_of_tiles = 2, columns_of_tiles = 2, deep_tiles = 3;

// Element type of the fragments of A and B, where it differs from the type in memory.
template <class T> struct in_fragments { using type = T; };
template <> struct in_fragments<float> { using type = wmma::precision::tf32; };

template <bool is_row> struct layout { using type = wmma::row_major; };
template <> struct layout<false> { using type = wmma::col_major; };

// A matrix in memory, stored by rows or by columns, with a stride.
template <class T, bool is_row> struct matrix {
  T *data;
  int stride;
  __host__ __device__ T *at(int row, int column) const { return data + (is_row ? row * stride + column : column * stride + row); }
};

// Each CTA is a warp that computes a tile of D = A B + C.
template <int M, int N, int K, class In, class Sum, bool a_row, bool b_row, bool d_row>
__global__ void product(matrix<In, a_row> a, matrix<In, b_row> b, matrix<Sum, true> c, matrix<Sum, d_row> d) {
  using T = typename in_fragments<In>::type;
  wmma::fragment<wmma::matrix_a, M, N, K, T, typename layout<a_row>::type> left;
  wmma::fragment<wmma::matrix_b, M, N, K, T, typename layout<b_row>::type> right;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
  const int row = blockIdx.y * M, column = blockIdx.x * N;
  wmma::load_matrix_sync(sum, c.at(row, column), c.stride, wmma::mem_row_major);
  for (int k = 0; k < deep_tiles * K; k += K) {
    wmma::load_matrix_sync(left, a.at(row, k), a.stride);
    wmma::load_matrix_sync(right, b.at(k, column), b.stride);
    wmma::mma_sync(sum, left, right, sum);
  }
  for (int i = 0; i < sum.num_elements; i++) sum.x[i] = sum.x[i] + sum.x[i];
  wmma::store_matrix_sync(d.at(row, column), sum, d.stride, d_row ? wmma::mem_row_major : wmma::mem_col_major);
}

// Loads and stores tiles through generic pointers.
__global__ void through_shared(const half *a, const half *b, float *d, bool from_shared) {
  __shared__ alignas(32) half tiles[2][256];
  __shared__ alignas(32) float out[256];
  for (int i = threadIdx.x; i < 256; i += 32) tiles[0][i] = a[i], tiles[1][i] = b[i];
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 1.0f);
  wmma::load_matrix_sync(left, tiles[0], 16);
  wmma::load_matrix_sync(right, from_shared ? tiles[1] : b, 16);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32) d[i] = out[i];
}

// Elements smaller than a byte.
__global__ void small_numbers(const int *a, const int *b, int *d) {
  wmma::fragment<wmma::matrix_a, 8, 8, 32, s4, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 8, 8, 32, s4, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 8, 8, 32, int> sum;
  wmma::fill_fragment(sum, 0);
  wmma::load_matrix_sync(left, a, 32);
  wmma::load_matrix_sync(right, b, 32);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
  wmma::fragment<wmma::matrix_a, 8, 8, 128, b1, wmma::row_major> bits_left;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, b1, wmma::col_major> bits_right;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> count;
  wmma::fill_fragment(count, 0);
  wmma::load_matrix_sync(bits_left, a, 128);
  wmma::load_matrix_sync(bits_right, b, 128);
  wmma::bmma_sync(count, bits_left, bits_right, count, wmma::experimental::bmmaBitOpAND);
  wmma::store_matrix_sync(d + 64, count, 8, wmma::mem_col_major);
}

template <int M, int N, int K, class In, class Sum, bool a_row, bool b_row, bool d_row>
static void check_product(const char *name, int least, int below) {
  const int rows = rows_of_tiles * M, columns = columns_of_tiles * N, depth = deep_tiles * K, gap = 64 / sizeof(In);
  matrix<In, a_row> a{nullptr, (a_row ? depth : rows) + gap};
  matrix<In, b_row> b{nullptr, (b_row ? columns : depth) + gap};
  matrix<Sum, true> c{nullptr, columns + 16};
  matrix<Sum, d_row> d{nullptr, (d_row ? columns : rows) + 16};
  std::vector<In> a_values(a.stride * (a_row ? rows : depth), number<In>(0)), b_values(b.stride * (b_row ? depth : columns), number<In>(0));
  std::vector<Sum> c_values(c.stride * rows, number<Sum>(0)), d_values(d.stride * (d_row ? rows : columns), number<Sum>(0));
  const auto fill = [&](auto &values, int least, int below) {
    for (auto &value : values) value = number<typename std::decay<decltype(value)>::type>(least + random_number(below));
  };
  fill(a_values, least, below);
  fill(b_values, least, below);
  fill(c_values, -4, 9);
  a.data = a_values.data(), b.data = b_values.data(), c.data = c_values.data();
  std::vector<double> expected(rows * columns);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      double sum = (float)*c.at(i, j);
      for (int k = 0; k < depth; k++) sum += (double)(float)*a.at(i, k) * (double)(float)*b.at(k, j);
      expected[i * columns + j] = 2 * sum;
    }
  a.data = upload(a_values), b.data = upload(b_values), c.data = upload(c_values), d.data = upload(d_values);
  const dim3 grid(columns_of_tiles, rows_of_tiles);
  product<M, N, K, In, Sum, a_row, b_row, d_row><<<grid, 32>>>(a, b, c, d);
  d_values = download(d.data, d_values.size());
  long long wrong = 0;
  const matrix<Sum, d_row> result{d_values.data(), d.stride};
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) wrong += (double)(float)*result.at(i, j) != expected[i * columns + j];
  report(name, wrong);
  cudaFree(a.data), cudaFree(b.data), cudaFree(c.data), cudaFree(d.data);
}

// In the next launch, other CTAs load the product as a factor.
static void check_chain() {
  constexpr int size = 48;
  std::vector<half> values(size * size);
  for (auto &value : values) value = number<half>(random_number(3) - 1);
  const std::vector<half> zeros(size * size, number<half>(0));
  const matrix<half, true> a{upload(values), size}, zero{upload(zeros), size}, once{upload(zeros), size}, twice{upload(zeros), size};
  const dim3 grid(3, 3);
  product<16, 16, 16, half, half, true, true, true><<<grid, 32>>>(a, a, zero, once);
  product<16, 16, 16, half, half, true, true, true><<<grid, 32>>>(once, a, zero, twice);
  const auto result = download(twice.data, size * size);
  std::vector<int> square(size * size);
  const auto at = [&](int i, int j) { return (int)__half2float(values[i * size + j]); };
  for (int i = 0; i < size; i++)
    for (int j = 0; j < size; j++)
      for (int k = 0; k < size; k++) square[i * size + j] += 2 * at(i, k) * at(k, j);
  long long wrong = 0;
  for (int i = 0; i < size; i++)
    for (int j = 0; j < size; j++) {
      int sum = 0;
      for (int k = 0; k < size; k++) sum += 2 * square[i * size + k] * at(k, j);
      wrong += __half2float(result[i * size + j]) != (float)sum;
    }
  report("product of a product", wrong);
}

static void check_shared() {
  std::vector<half> a(256), b(256);
  for (auto &value : a) value = number<half>(random_number(9) - 4);
  for (auto &value : b) value = number<half>(random_number(9) - 4);
  half *device_a = upload(a), *device_b = upload(b);
  float *d = upload(std::vector<float>(256));
  long long wrong = 0;
  for (bool from_shared : {true, false}) {
    through_shared<<<1, 32>>>(device_a, device_b, d, from_shared);
    const auto result = download(d, 256);
    for (int i = 0; i < 16; i++)
      for (int j = 0; j < 16; j++) {
        float sum = 1;
        for (int k = 0; k < 16; k++) sum += __half2float(a[i * 16 + k]) * __half2float(b[j * 16 + k]);
        wrong += result[i * 16 + j] != sum;
      }
  }
  report("through shared memory", wrong);
}

static void check_small_numbers() {
  std::vector<int> a(32), b(32);
  for (auto *values : {&a, &b})
    for (int &word : *values) word = random_number(65536) << 16 | random_number(65536);
  int *d = upload(std::vector<int>(128));
  small_numbers<<<1, 32>>>(upload(a), upload(b), d);
  const auto result = download(d, 128);
  long long wrong = 0;
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) {
      int sum = 0, count = 0;
      for (int w = 0; w < 4; w++) {
        const unsigned left = a[i * 4 + w], right = b[j * 4 + w];
        for (int shift = 0; shift < 32; shift += 4) sum += ((int)(left << (28 - shift)) >> 28) * ((int)(right << (28 - shift)) >> 28);
        count += __builtin_popcount(left & right);
      }
      wrong += (result[i * 8 + j] != sum) + (result[64 + j * 8 + i] != count);
    }
  report("s4 and b1", wrong);
}

#include "instructions.inc"

int main() {
  check_product<16, 16, 16, half, float, true, false, true>("f16, f32 m16n16k16", -2, 5);
  check_product<16, 16, 16, half, half, false, true, false>("f16, f16 m16n16k16", -2, 5);
  check_product<32, 8, 16, half, float, true, true, false>("f16, f32 m32n8k16", -2, 5);
  check_product<8, 32, 16, half, half, false, false, true>("f16, f16 m8n32k16", -2, 5);
  check_product<16, 16, 16, __nv_bfloat16, float, true, true, true>("bf16 m16n16k16", -2, 5);
  check_product<32, 8, 16, __nv_bfloat16, float, false, false, true>("bf16 m32n8k16", -2, 5);
  check_product<16, 16, 8, float, float, true, false, true>("tf32 m16n16k8", -9, 19);
  check_product<16, 16, 8, float, float, false, true, false>("tf32 m16n16k8, turned", -9, 19);
  check_product<8, 8, 4, double, double, true, false, true>("f64 m8n8k4", -99, 199);
  check_product<8, 8, 4, double, double, false, true, false>("f64 m8n8k4, turned", -99, 199);
  check_product<16, 16, 16, signed char, int, true, false, true>("s8 m16n16k16", -128, 256);
  check_product<8, 32, 16, unsigned char, int, false, true, false>("u8 m8n32k16", 0, 256);
  check_product<32, 8, 16, unsigned char, int, true, true, true>("u8 m32n8k16", 0, 256);
  check_chain();
  check_shared();
  check_small_numbers();
  check_instructions();
  const cudaError_t status = cudaDeviceSynchronize();
  if (status != cudaSuccess) printf("%s\n", cudaGetErrorString(status));
  puts(failures || status != cudaSuccess ? "FAILED" : "PASSED");
  return failures || status != cudaSuccess;
}
