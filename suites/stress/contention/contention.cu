// Kernels that stress a trace buffer. The program computes how many global accesses each launch must perform and prints
// the total, `expected-accesses: N`; it also checks its results.
//
//   contention KERNEL SEED LAUNCHES
//
// KERNEL: storm   divergent lanes, loops of different lengths, atomic operations
//         crowd   many more CTAs than fit on a GPU
//         solo    one warp that performs all accesses
//         relay   CTAs that poll a flag of the previous CTA, and count their polls
//         all     the first three

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static bool failed = false;

static void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorName(error));
  failed = true;
}

// A hash that decides which path a lane takes, on both host and device.
__host__ __device__ inline unsigned mix(unsigned value) {
  value ^= value >> 16;
  value *= 0x7feb352du;
  value ^= value >> 15;
  value *= 0x846ca68bu;
  return value ^ value >> 16;
}

constexpr unsigned table_size = 4096;

// A `storm` thread's work in one round: whether it takes the branch, how long its loop is, whether it adds to the total.
struct Round {
  unsigned branch, loop, add;
  __host__ __device__ Round(unsigned thread, unsigned round, unsigned seed) {
    const unsigned h = mix(thread * 4099u + round * 31u + seed);
    branch = h & 1, loop = h % 5, add = (h >> 8) % 7 == 0;
  }
  __host__ __device__ unsigned accesses() const { return 1 + branch + loop + add; }
};

__global__ void storm(const unsigned *table, unsigned *sums, unsigned *total, unsigned rounds, unsigned seed) {
  const unsigned cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned local = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned thread = cta * (blockDim.x * blockDim.y * blockDim.z) + local;
  unsigned sum = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const Round r(thread, round, seed);
    sum += table[(thread + round) % table_size];
    if (r.branch) sum += table[mix(thread + round) % table_size];
    for (unsigned i = 0; i < r.loop; ++i) sum += table[(thread * 3 + i * 77 + sum) % table_size];
    if (r.add) atomicAdd(total, 1u);
  }
  sums[thread] = sum;
}

__global__ void crowd(const unsigned *table, unsigned *sums, unsigned seed) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  sums[thread] = table[(thread + seed) % table_size] + table[mix(thread ^ seed) % table_size];
}

__global__ void solo(const unsigned *table, unsigned *sums, unsigned rounds, unsigned seed) {
  unsigned sum = seed;
  for (unsigned round = 0; round < rounds; ++round) {
    sum += table[(threadIdx.x + round * 32) % table_size];
    if (threadIdx.x % 3 == round % 3) sum += table[sum % table_size];
  }
  sums[threadIdx.x] = sum;
}

__global__ void relay(unsigned *flags, unsigned *polls, unsigned rounds) {
  const unsigned cta = blockIdx.x;
  volatile unsigned *flag = flags;
  unsigned polled = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) {
      if (cta > 0) {
        do ++polled;
        while (flag[cta - 1] <= round);
      }
      __threadfence();
      flag[cta] = round + 1;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) polls[cta] = polled;
}

static dim3 grid_of(unsigned launch, unsigned ctas) { return launch % 2 ? dim3(ctas / 2, 2, 1) : dim3(ctas, 1, 1); }
static dim3 block_of(unsigned launch, unsigned threads) {
  return launch % 2 ? dim3(threads / 4, 2, 2) : dim3(threads, 1, 1);
}

struct Case {
  std::vector<unsigned> table;
  unsigned *device_table, *sums, *total, seed;
  unsigned long long expected = 0;

  explicit Case(unsigned seed) : table(table_size), seed(seed) {
    for (unsigned i = 0; i < table_size; ++i) table[i] = mix(i + seed);
    check(cudaMalloc(&device_table, table_size * sizeof(unsigned)), "cudaMalloc");
    check(cudaMalloc(&sums, 4096 * 256 * sizeof(unsigned)), "cudaMalloc");
    check(cudaMalloc(&total, sizeof(unsigned)), "cudaMalloc");
    check(cudaMemcpy(device_table, table.data(), table_size * sizeof(unsigned), cudaMemcpyHostToDevice), "cudaMemcpy");
  }

  unsigned look(unsigned index) const { return table[index % table_size]; }

  std::vector<unsigned> results(unsigned threads) {
    std::vector<unsigned> actual(threads);
    check(cudaMemcpy(actual.data(), sums, threads * sizeof(unsigned), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return actual;
  }

  void differ(const char *kernel, unsigned thread) {
    if (!failed) printf("%s: the result of thread %u is wrong\n", kernel, thread);
    failed = true;
  }

  void run_storm(unsigned launch) {
    const unsigned ctas = 24, threads = 64, rounds = 5, all = ctas * threads, now = seed + launch * 1000003u;
    check(cudaMemset(total, 0, sizeof(unsigned)), "cudaMemset");
    storm<<<grid_of(launch, ctas), block_of(launch, threads)>>>(device_table, sums, total, rounds, now);
    check(cudaGetLastError(), "launch of storm");
    const std::vector<unsigned> actual = results(all);
    unsigned adds = 0, added = 0;
    for (unsigned thread = 0; thread < all; ++thread) {
      unsigned sum = 0;
      for (unsigned round = 0; round < rounds; ++round) {
        const Round r(thread, round, now);
        expected += r.accesses();
        adds += r.add;
        sum += look(thread + round);
        if (r.branch) sum += look(mix(thread + round));
        for (unsigned i = 0; i < r.loop; ++i) sum += look(thread * 3 + i * 77 + sum);
      }
      if (actual[thread] != sum) differ("storm", thread);
    }
    expected += all;
    check(cudaMemcpy(&added, total, sizeof added, cudaMemcpyDeviceToHost), "cudaMemcpy");
    if (added != adds) differ("storm (total)", added);
  }

  void run_crowd(unsigned launch) {
    const unsigned ctas = 4096, threads = 256, all = ctas * threads, now = seed + launch;
    crowd<<<ctas, threads>>>(device_table, sums, now);
    check(cudaGetLastError(), "launch of crowd");
    const std::vector<unsigned> actual = results(all);
    for (unsigned thread = 0; thread < all; ++thread)
      if (actual[thread] != look(thread + now) + look(mix(thread ^ now))) differ("crowd", thread);
    expected += 3ull * all;
  }

  void run_solo(unsigned launch) {
    const unsigned rounds = 3000, now = seed + launch;
    solo<<<1, 32>>>(device_table, sums, rounds, now);
    check(cudaGetLastError(), "launch of solo");
    const std::vector<unsigned> actual = results(32);
    for (unsigned thread = 0; thread < 32; ++thread) {
      unsigned sum = now;
      for (unsigned round = 0; round < rounds; ++round) {
        sum += look(thread + round * 32);
        expected += 1;
        if (thread % 3 == round % 3) sum += look(sum), expected += 1;
      }
      if (actual[thread] != sum) differ("solo", thread);
      expected += 1;
    }
  }

  void run_relay(unsigned) {
    const unsigned ctas = 32, rounds = 20;
    check(cudaMemset(sums, 0, 2 * ctas * sizeof(unsigned)), "cudaMemset");
    relay<<<ctas, 32>>>(sums, sums + ctas, rounds);
    check(cudaGetLastError(), "launch of relay");
    const std::vector<unsigned> actual = results(2 * ctas);
    for (unsigned cta = 0; cta < ctas; ++cta) {
      if (actual[cta] != rounds) differ("relay", cta);
      expected += rounds + actual[ctas + cta] + 1;
    }
  }
};

int main(int argc, char **argv) {
  if (argc != 4) return fprintf(stderr, "usage: contention KERNEL SEED LAUNCHES\n"), 2;
  const char *kernel = argv[1];
  const unsigned seed = atoi(argv[2]), launches = atoi(argv[3]);
  auto is = [&](const char *name) { return !strcmp(kernel, name); };
  Case c(seed);
  for (unsigned launch = 0; launch < launches; ++launch) {
    if (is("storm") || is("all")) c.run_storm(launch);
    if (is("crowd") || is("all")) c.run_crowd(launch);
    if (is("solo") || is("all")) c.run_solo(launch);
    if (is("relay")) c.run_relay(launch);
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  printf("expected-accesses: %llu\n%s\n", c.expected, failed ? "FAILED" : "PASSED");
  return failed;
}
