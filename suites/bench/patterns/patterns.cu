// Kernels that only access memory, one for each access pattern that tracing has to handle.
//
//   patterns PATTERN ROUNDS LAUNCHES [UNTIL_SECONDS]
//
// PATTERN: coalesced, strided, broadcast, scattered, atomic, all; or dma: copies from the device into page-locked memory.
// With UNTIL_SECONDS, launches continue until that time has passed. One line of JSON per pattern contains the number of
// accesses in all launches and how long the launches took according to the device's clock.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static const unsigned CTAS = 132 * 8, THREADS = 256, STRIDE = 8;
static const unsigned ELEMENTS = 1u << 24;
static const unsigned PER_ROUND = 8; // accesses per thread

__device__ __forceinline__ unsigned thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

// A store that never happens keeps the compiler from removing the loads.
__device__ __forceinline__ void keep(unsigned *out, unsigned sum) {
  if (sum == 0xdeadbeefu) *out = sum;
}

__global__ void coalesced(const volatile unsigned *in, unsigned *out, unsigned rounds) {
  unsigned sum = 0, at = thread_number();
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned i = 0; i < PER_ROUND; ++i) {
      sum += in[at & (ELEMENTS - 1)];
      at += gridDim.x * blockDim.x;
    }
  }
  keep(out, sum);
}

__global__ void strided(const volatile unsigned *in, unsigned *out, unsigned rounds) {
  unsigned sum = 0, at = thread_number() * STRIDE;
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned i = 0; i < PER_ROUND; ++i) {
      sum += in[at & (ELEMENTS - 1)];
      at += gridDim.x * blockDim.x * STRIDE;
    }
  }
  keep(out, sum);
}

__global__ void broadcast(const volatile unsigned *in, unsigned *out, unsigned rounds) {
  unsigned sum = 0, at = thread_number() / 32;
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned i = 0; i < PER_ROUND; ++i) {
      sum += in[at & (ELEMENTS - 1)];
      at += gridDim.x * blockDim.x / 32;
    }
  }
  keep(out, sum);
}

__global__ void scattered(const volatile unsigned *in, unsigned *out, unsigned rounds) {
  unsigned sum = 0, at = thread_number() * 2654435761u;
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned i = 0; i < PER_ROUND; ++i) {
      sum += in[at >> 8];
      at = at * 1664525u + 1013904223u;
    }
  }
  keep(out, sum);
}

__global__ void atomic(unsigned *in, unsigned *out, unsigned rounds) {
  unsigned at = thread_number() * 2654435761u;
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned i = 0; i < PER_ROUND; ++i) {
      atomicAdd(in + (at >> 16), 1u);
      at = at * 1664525u + 1013904223u;
    }
  }
  (void)out;
}

static bool failed = false;

static void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorString(error));
  failed = true;
}

typedef std::chrono::steady_clock Clock;
static double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <class Launch> static void measure(const char *name, unsigned rounds, int launches, double until, Launch launch) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  if (until > 0) { // the first launch pays for all lazy initialisation
    launch(1);
    check(cudaDeviceSynchronize(), name);
  }
  const Clock::time_point start = Clock::now();
  double ms = 0;
  unsigned long long done = 0;
  do {
    check(cudaEventRecord(begin), "cudaEventRecord");
    for (int i = 0; i < launches; ++i) launch(rounds);
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), name);
    float part = 0;
    check(cudaEventElapsedTime(&part, begin, end), "cudaEventElapsedTime");
    ms += part;
    done += launches;
  } while (since(start) < until && !failed);
  const unsigned long long each = (unsigned long long)CTAS * THREADS * PER_ROUND;
  printf("{\"pattern\":\"%s\",\"accesses\":%llu,\"launches\":%llu,\"seconds\":%.6f,\"warm_up\":%llu}\n", name,
         each * rounds * done, done, ms / 1e3, until > 0 ? each : 0ull);
}

static void copies(double until) {
  const size_t bytes = 256u << 20;
  void *device = nullptr, *host = nullptr;
  check(cudaMalloc(&device, bytes), "cudaMalloc");
  check(cudaMallocHost(&host, bytes), "cudaMallocHost");
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, 0), "cudaMemcpyAsync");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const Clock::time_point start = Clock::now();
  unsigned long long done = 0;
  do {
    for (int i = 0; i < 4; ++i) {
      check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, 0), "cudaMemcpyAsync");
      done += bytes;
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  } while (since(start) < until && !failed);
  printf("{\"pattern\":\"dma\",\"bytes\":%llu,\"seconds\":%.6f}\n", done, since(start));
}

int main(int argc, char **argv) {
  if (argc < 4) return fprintf(stderr, "usage: patterns PATTERN ROUNDS LAUNCHES [UNTIL_SECONDS]\n"), 2;
  const char *pattern = argv[1];
  const unsigned rounds = atoi(argv[2]);
  const int launches = atoi(argv[3]);
  const double until = argc > 4 ? atof(argv[4]) : 0;
  if (!strcmp(pattern, "dma")) {
    copies(until);
    return failed;
  }
  unsigned *in = nullptr, *out = nullptr;
  check(cudaMalloc(&in, ELEMENTS * sizeof *in), "cudaMalloc");
  check(cudaMalloc(&out, sizeof *out), "cudaMalloc");
  check(cudaMemset(in, 0, ELEMENTS * sizeof *in), "cudaMemset");
  const bool all = !strcmp(pattern, "all");
#define PATTERN(kernel)                                                                                                    \
  if (all || !strcmp(pattern, #kernel))                                                                                    \
    measure(#kernel, rounds, launches, until, [=](unsigned rounds) { kernel<<<CTAS, THREADS>>>(in, out, rounds); });
  PATTERN(coalesced)
  PATTERN(strided)
  PATTERN(broadcast)
  PATTERN(scattered)
  PATTERN(atomic)
  check(cudaGetLastError(), "launch");
  check(cudaFree(in), "cudaFree");
  check(cudaFree(out), "cudaFree");
  printf(failed ? "FAILED\n" : "PASSED\n");
  return failed;
}
