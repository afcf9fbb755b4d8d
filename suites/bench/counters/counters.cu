// Atomic operations on counters by many threads, with one kernel for each way of sharing counters among threads.
//
//   counters THREADS       binary logarithm of the number of threads
//
// Each thread adds 1 to ROUNDS counters. The host sets the counters of `filled` kernels to 0; another kernel sets those
// of `stored` kernels, so the values that they load are communicated.

#include <cstdio>
#include <cstdlib>
#include <vector>

static const unsigned CTA = 256, ROUNDS = 4;

__device__ inline unsigned mixed(unsigned x) {
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  return x ^ x >> 16;
}

struct One {
  __device__ static unsigned of(unsigned, unsigned, unsigned) { return 0; }
};
struct Few {
  __device__ static unsigned of(unsigned thread, unsigned round, unsigned) { return mixed(thread * ROUNDS + round) % 256; }
};
struct OneOfCta {
  __device__ static unsigned of(unsigned thread, unsigned, unsigned) { return thread / CTA; }
};
struct OneOfThread {
  __device__ static unsigned of(unsigned thread, unsigned, unsigned) { return thread; }
};
struct Any {
  __device__ static unsigned of(unsigned thread, unsigned round, unsigned counters) { return mixed(thread * ROUNDS + round) % counters; }
};

template <class Which> __device__ void add(unsigned *counters) {
  const unsigned thread = blockIdx.x * CTA + threadIdx.x;
  for (unsigned round = 0; round < ROUNDS; ++round) atomicAdd(counters + Which::of(thread, round, gridDim.x * CTA), 1u);
}

template <class Which> __global__ void filled(unsigned *counters) { add<Which>(counters); }
template <class Which> __global__ void stored(unsigned *counters) { add<Which>(counters); }
__global__ void store(unsigned *counters) { counters[blockIdx.x * CTA + threadIdx.x] = 0; }

static bool failed = false;

static void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorString(error));
  failed = true;
}

static void check_sum(const char *what, const unsigned *counters, unsigned threads) {
  std::vector<unsigned> all(threads);
  check(cudaMemcpy(all.data(), counters, threads * sizeof(unsigned), cudaMemcpyDeviceToHost), what);
  unsigned sum = 0;
  for (unsigned counter : all) sum += counter;
  if (sum == threads * ROUNDS) return;
  printf("%s: the counters add up to %u instead of %u\n", what, sum, threads * ROUNDS);
  failed = true;
}

template <class Which> static void run(const char *what, unsigned *counters, unsigned threads) {
  check(cudaMemset(counters, 0, threads * sizeof(unsigned)), "cudaMemset");
  filled<Which><<<threads / CTA, CTA>>>(counters);
  check_sum(what, counters, threads);
  store<<<threads / CTA, CTA>>>(counters);
  stored<Which><<<threads / CTA, CTA>>>(counters);
  check_sum(what, counters, threads);
}

int main(int argc, char **argv) {
  const int bits = argc == 2 ? atoi(argv[1]) : 0;
  if (bits < 8 || bits > 28) return fprintf(stderr, "usage: counters THREADS (a logarithm, 8 to 28)\n"), 2;
  const unsigned threads = 1u << bits;
  unsigned *counters;
  check(cudaMalloc(&counters, threads * sizeof(unsigned)), "cudaMalloc");
  run<One>("one", counters, threads);
  run<Few>("few", counters, threads);
  run<OneOfCta>("one of a CTA", counters, threads);
  run<OneOfThread>("one of a thread", counters, threads);
  run<Any>("any", counters, threads);
  check(cudaFree(counters), "cudaFree");
  printf(failed ? "FAILED\n" : "PASSED\n");
  return failed;
}
