// Stress program for tracing on a GPU: kernels that call the probe themselves, as instrumented kernels do, with made-up
// addresses that identify each access. `check.rs` reads the capture and looks for every one of them.
//
// The device pass sees the kernels with the two trailing parameters; the host pass sees them without.
// tests/gpu/README.md explains how to build and run it.
//
//   stress MODE CTAS THREADS ROUNDS LAUNCHES STREAMS
//
// MODE: ok      launches everything and checks the program's own result
//       fault   the last launch writes to address 0 midway
//       assert  the last launch fails a device assertion midway
//       exit    ends without waiting for the device
//       reset   resets the device midway and continues
//       graph   tries to capture a stream into a graph

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef __CUDA_ARCH__
#define TRAILING , void *context, unsigned long long launch
extern "C" __device__ void __superstep_probe_access(void *context, unsigned long long launch, unsigned site, void *address,
                                                    unsigned width_bytes);
#else
#define TRAILING
#endif

enum Sites { ALL = 0, HALF = 1, LOOP = 2, ATOMIC = 3, FLAG = 4, COUNT = 5 };

// Decides which lanes take which branch, as in check.rs.
__host__ __device__ inline unsigned mix(unsigned value) {
  value ^= value >> 16;
  value *= 0x7feb352du;
  value ^= value >> 15;
  value *= 0x846ca68bu;
  return value ^ value >> 16;
}

// Computes the result of each thread of a launch as the kernel does, for the check on the host.
__host__ __device__ inline unsigned result(unsigned thread, unsigned rounds) {
  unsigned sum = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned h = mix(thread * 4099u + round);
    sum += 1 + (h & 1) + h % 5;
  }
  return sum;
}

#ifdef __CUDA_ARCH__
#define PROBE(site, number, width)                                                                                          \
  __superstep_probe_access(context, launch, site,                                                                           \
                           (void *)((launch & 0xff) << 56 | (unsigned long long)thread << 32 | round << 12 |               \
                                    (unsigned)(number) << 4 | (site)),                                                      \
                           width)
#endif

extern "C" __global__ void stress(unsigned *sums, unsigned *total, unsigned rounds, int trouble TRAILING) {
#ifdef __CUDA_ARCH__
  const unsigned cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned local = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned thread = cta * (blockDim.x * blockDim.y * blockDim.z) + local;
  unsigned sum = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned h = mix(thread * 4099u + round);
    PROBE(ALL, 0, 4);
    sum += 1;
    if (h & 1) {
      PROBE(HALF, 0, 4u << (thread & 1));
      sum += 1;
    }
    for (unsigned number = 0; number < h % 5; ++number) {
      PROBE(LOOP, number, 8);
      sum += 1;
    }
    if (local % 3 == round % 3) {
      PROBE(ATOMIC, 0, 4);
      atomicAdd(total, 1u);
    }
    if (trouble && round == rounds / 2 && cta == gridDim.x / 2) {
      if (trouble == 1) *(volatile unsigned *)nullptr = 1;
      if (trouble == 2) assert(local == 12345);
    }
  }
  sums[thread] = sum;
#endif
}

// Lanes of a warp wait for each other, and CTAs for the previous CTA. The probe must not block either.
extern "C" __global__ void relay(unsigned *flags, unsigned rounds TRAILING) {
#ifdef __CUDA_ARCH__
  __shared__ unsigned ready[32];
  const unsigned cta = blockIdx.x, local = threadIdx.x, thread = cta * blockDim.x + local;
  volatile unsigned *flag = flags;
  for (unsigned round = 0; round < rounds; ++round) {
    ready[local] = 0;
    __syncthreads();
    // Only even lanes continue immediately; each odd lane waits for its neighbour in the same warp.
    if (local & 1) {
      while (*(volatile unsigned *)&ready[local - 1] == 0) {
      }
      PROBE(FLAG, 1, 4);
    } else {
      PROBE(FLAG, 0, 4);
      *(volatile unsigned *)&ready[local] = 1;
    }
    __syncthreads();
    if (local == 0) {
      while (cta > 0 && flag[cta - 1] <= round) {
      }
      PROBE(ATOMIC, 0, 4);
      __threadfence();
      flag[cta] = round + 1;
    }
    __syncthreads();
  }
#endif
}

#ifndef __CUDA_ARCH__
static bool failed = false;

static bool check(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return true;
  printf("%s: %s\n", what, cudaGetErrorName(error));
  failed = true;
  return false;
}

static dim3 grid_of(unsigned launch, unsigned ctas) { return launch % 2 ? dim3(ctas / 2, 2, 1) : dim3(ctas, 1, 1); }
static dim3 block_of(unsigned launch, unsigned threads) {
  return launch % 2 ? dim3(threads / 4, 2, 2) : dim3(threads, 1, 1);
}

int main(int argc, char **argv) {
  if (argc != 7) return fprintf(stderr, "usage: stress MODE CTAS THREADS ROUNDS LAUNCHES STREAMS\n"), 2;
  const char *mode = argv[1];
  const unsigned ctas = atoi(argv[2]), threads = atoi(argv[3]), rounds = atoi(argv[4]);
  const unsigned launches = atoi(argv[5]), streams = atoi(argv[6]);
  const size_t bytes = (size_t)ctas * threads * sizeof(unsigned);

  cudaStream_t stream[8] = {};
  unsigned *sums[8], *total, *flags;
  for (int pass = 0; pass < (strcmp(mode, "reset") ? 1 : 2); ++pass) {
    for (unsigned s = 0; s < streams; ++s) {
      // Stream 0 is the default stream.
      if (s > 0) check(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
      check(cudaMalloc(&sums[s], bytes), "cudaMalloc");
    }
    check(cudaMalloc(&total, sizeof *total), "cudaMalloc");
    check(cudaMalloc(&flags, ctas * sizeof *flags), "cudaMalloc");
    check(cudaMemset(total, 0, sizeof *total), "cudaMemset");
    check(cudaMemset(flags, 0, ctas * sizeof *flags), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

    if (!strcmp(mode, "graph")) {
      const cudaError_t error = cudaStreamBeginCapture(stream[streams - 1], cudaStreamCaptureModeGlobal);
      printf("cudaStreamBeginCapture: %s\n", cudaGetErrorName(error));
      return error == cudaErrorNotSupported ? 0 : 1;
    }
    for (unsigned launch = 0; launch < launches; ++launch) {
      for (unsigned s = 0; s < streams; ++s) {
        const bool last = launch == launches - 1 && s == streams - 1;
        const int trouble = !last ? 0 : !strcmp(mode, "fault") ? 1 : !strcmp(mode, "assert") ? 2 : 0;
        stress<<<grid_of(launch, ctas), block_of(launch, threads), 0, stream[s]>>>(sums[s], total, rounds, trouble);
        check(cudaGetLastError(), "launch of stress");
      }
    }
    // One warp per CTA, and few enough CTAs to be resident at the same time, since they wait for each other.
    relay<<<ctas < 64 ? ctas : 64, 32, 0, stream[streams - 1]>>>(flags, 20);
    if (strcmp(mode, "fault") && strcmp(mode, "assert")) check(cudaGetLastError(), "launch of relay");
    if (!strcmp(mode, "exit")) return 0;
    if (!check(cudaDeviceSynchronize(), "cudaDeviceSynchronize")) return 3;

    unsigned *actual = (unsigned *)malloc(bytes), wrong = 0;
    for (unsigned s = 0; s < streams; ++s) {
      check(cudaMemcpy(actual, sums[s], bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
      for (unsigned thread = 0; thread < ctas * threads; ++thread) wrong += actual[thread] != result(thread, rounds);
    }
    free(actual);
    printf("wrong results: %u\n", wrong);
    if (wrong) failed = true;
    if (!strcmp(mode, "reset")) check(cudaDeviceReset(), "cudaDeviceReset");
  }
  return failed;
}
#endif
