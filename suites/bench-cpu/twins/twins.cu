// Compares kernels with the loops of serial.cpp. Usage: twins REPETITIONS
// Prints a JSON object per kernel: the best times, in ns, of the kernel (from launch to completion) and of its twin.
#include "twins.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

static const int TILE = 16, THREADS = 256;

__global__ void empty() {}

__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

__global__ void stencil(int n, const float *in, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
    return;
  const float *p = in + y * n + x;
  out[y * n + x] = 0.2f * (p[0] + p[-1] + p[1] + p[-n] + p[n]);
}

__global__ void stencil_tiled(int n, const float *in, float *out) {
  __shared__ float tile[TILE + 2][TILE + 2];
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  const float *p = in + y * n + x;
  tile[ty][tx] = *p;
  if (tx == 1 && x > 0)
    tile[ty][0] = p[-1];
  if (tx == TILE && x < n - 1)
    tile[ty][TILE + 1] = p[1];
  if (ty == 1 && y > 0)
    tile[0][tx] = p[-n];
  if (ty == TILE && y < n - 1)
    tile[TILE + 1][tx] = p[n];
  __syncthreads();
  if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
    out[y * n + x] = 0.2f * (tile[ty][tx] + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
}

__global__ void matmul(int n, const float *a, const float *b, float *c) {
  __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
  float sum = 0;
  for (int first = 0; first < n; first += TILE) {
    tile_a[ty][tx] = a[row * n + first + tx];
    tile_b[ty][tx] = b[(first + ty) * n + column];
    __syncthreads();
    for (int k = 0; k < TILE; k++)
      sum += tile_a[ty][k] * tile_b[k][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void sum_of_blocks(int n, const float *x, float *sums) {
  __shared__ float partial[THREADS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t;
  partial[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half)
      partial[t] += partial[t + half];
    __syncthreads();
  }
  if (t == 0)
    sums[blockIdx.x] = partial[0];
}

__global__ void nbody(int n, const float4 *position, float4 *force) {
  __shared__ float4 tile[THREADS];
  int i = blockIdx.x * THREADS + threadIdx.x;
  float4 own = position[i];
  float sum[3] = {0, 0, 0};
  for (int first = 0; first < n; first += THREADS) {
    tile[threadIdx.x] = position[first + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < THREADS; j++) {
      float dx = tile[j].x - own.x, dy = tile[j].y - own.y, dz = tile[j].z - own.z;
      float distance2 = dx * dx + dy * dy + dz * dz + 0.01f;
      float s = tile[j].w / (distance2 * sqrtf(distance2));
      sum[0] += dx * s;
      sum[1] += dy * s;
      sum[2] += dz * s;
    }
    __syncthreads();
  }
  force[i] = make_float4(sum[0], sum[1], sum[2], 0);
}

// One row per launch: neighbours may be in other CTAs.
__global__ void path(int columns, const int *wall, const int *costs, int *next) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= columns)
    return;
  int best = costs[x];
  if (x > 0)
    best = min(best, costs[x - 1]);
  if (x < columns - 1)
    best = min(best, costs[x + 1]);
  next[x] = best + wall[x];
}

static int repetitions;
static bool passed = true;

static void check(cudaError_t error) {
  if (error != cudaSuccess) {
    printf("%s\n", cudaGetErrorString(error));
    exit(1);
  }
}

static double best_ns(const std::function<void()> &work) {
  double best = 1e300;
  for (int i = 0; i < repetitions; i++) {
    auto start = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

template <class T> static T *device(const std::vector<T> &values) {
  T *pointer;
  check(cudaMalloc(&pointer, values.size() * sizeof(T)));
  check(cudaMemcpy(pointer, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return pointer;
}

static std::vector<float> numbers(int count) {
  std::vector<float> values(count);
  unsigned state = 12345;
  for (float &value : values) {
    state = state * 1664525 + 1013904223;
    value = (state >> 8) / 16777216.f;
  }
  return values;
}

template <class T> static void compare(const char *name, const T *on_device, const std::vector<T> &expected, double tolerance) {
  std::vector<T> found(expected.size());
  check(cudaMemcpy(found.data(), on_device, found.size() * sizeof(T), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < found.size(); i++)
    if (!(std::fabs((double)found[i] - (double)expected[i]) <= tolerance * (1 + std::fabs((double)expected[i])))) {
      printf("%s: element %zu is %g, expected %g\n", name, i, (double)found[i], (double)expected[i]);
      passed = false;
      return;
    }
}

static void report(const char *name, double kernel_ns, double serial_ns) {
  printf("{\"kernel\": \"%s\", \"kernel_ns\": %.0f, \"serial_ns\": %.0f}\n", name, kernel_ns, serial_ns);
}

int main(int count, char **arguments) {
  repetitions = count > 1 ? atoi(arguments[1]) : 1;

  const int launches = 200;
  double launch_ns = best_ns([&] {
    for (int i = 0; i < launches; i++) {
      empty<<<1, 1>>>();
      check(cudaDeviceSynchronize());
    }
  });
  report("empty", launch_ns / launches, 0);

  {
    const int n = 1 << 20;
    std::vector<float> x = numbers(n), y(n, 1);
    float *device_x = device(x), *device_y = device(y);
    double kernel = best_ns([&] {
      saxpy<<<n / THREADS, THREADS>>>(n, 0.5f, device_x, device_y);
      check(cudaDeviceSynchronize());
    });
    report("saxpy", kernel, best_ns([&] { serial_saxpy(n, 0.5f, x.data(), y.data()); }));
    compare("saxpy", device_y, y, 1e-4);
  }
  {
    const int n = 1024;
    std::vector<float> in = numbers(n * n), out(n * n, 0);
    float *device_in = device(in), *device_out = device(out);
    dim3 block(32, 8), grid(n / 32, n / 8);
    double kernel = best_ns([&] {
      stencil<<<grid, block>>>(n, device_in, device_out);
      check(cudaDeviceSynchronize());
    });
    double serial = best_ns([&] { serial_stencil(n, in.data(), out.data()); });
    report("stencil", kernel, serial);
    compare("stencil", device_out, out, 1e-5);
    check(cudaMemset(device_out, 0, n * n * sizeof(float)));
    kernel = best_ns([&] {
      stencil_tiled<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(n, device_in, device_out);
      check(cudaDeviceSynchronize());
    });
    report("stencil_tiled", kernel, serial);
    compare("stencil_tiled", device_out, out, 1e-5);
  }
  {
    const int n = 512;
    std::vector<float> a = numbers(n * n), b = numbers(n * n), c(n * n);
    float *device_a = device(a), *device_b = device(b), *device_c = device(c);
    double kernel = best_ns([&] {
      matmul<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(n, device_a, device_b, device_c);
      check(cudaDeviceSynchronize());
    });
    report("matmul", kernel, best_ns([&] { serial_matmul(n, a.data(), b.data(), c.data()); }));
    compare("matmul", device_c, c, 1e-4);
  }
  {
    const int n = 1 << 20, blocks = n / THREADS;
    std::vector<float> x = numbers(n), sums(blocks);
    float *device_x = device(x), *device_sums = device(sums);
    double kernel = best_ns([&] {
      sum_of_blocks<<<blocks, THREADS>>>(n, device_x, device_sums);
      check(cudaDeviceSynchronize());
    });
    float total = 0;
    report("sum", kernel, best_ns([&] { total = serial_sum(n, x.data()); }));
    check(cudaMemcpy(sums.data(), device_sums, blocks * sizeof(float), cudaMemcpyDeviceToHost));
    double found = 0;
    for (float sum : sums)
      found += sum;
    if (std::fabs(found - total) > 1e-3 * found) {
      printf("sum: %g, expected %g\n", found, total);
      passed = false;
    }
  }
  {
    const int n = 2048;
    std::vector<float> position = numbers(4 * n), force(4 * n, 0);
    float *device_position = device(position), *device_force = device(force);
    double kernel = best_ns([&] {
      nbody<<<n / THREADS, THREADS>>>(n, (const float4 *)device_position, (float4 *)device_force);
      check(cudaDeviceSynchronize());
    });
    report("nbody", kernel, best_ns([&] { serial_nbody(n, position.data(), force.data()); }));
    compare("nbody", device_force, force, 1e-3);
  }
  {
    const int columns = 100000, rows = 100; // an even number, so the result ends up in `costs`
    std::vector<int> wall(columns * rows), costs(columns, 0), next(columns);
    unsigned state = 1;
    for (int &value : wall) {
      state = state * 1664525 + 1013904223;
      value = state >> 28;
    }
    int *device_wall = device(wall), *device_costs = device(costs), *device_next = device(next);
    double kernel = best_ns([&] {
      for (int row = 0; row < rows; row += 2) {
        int blocks = (columns + THREADS - 1) / THREADS;
        path<<<blocks, THREADS>>>(columns, device_wall + row * columns, device_costs, device_next);
        path<<<blocks, THREADS>>>(columns, device_wall + (row + 1) * columns, device_next, device_costs);
      }
      check(cudaDeviceSynchronize());
    });
    report("path", kernel, best_ns([&] { serial_path(columns, rows, wall.data(), costs.data(), next.data()); }));
    compare("path", device_costs, costs, 0);
  }
  printf(passed ? "PASSED\n" : "FAILED\n");
  return passed ? 0 : 1;
}
