// Programs that fail in different ways. A launch that succeeded must have performed 4 x 64 x 64 x 9 accesses.
//
//   faults MODE
//
// none           succeeds                                       assert         a device assert fails
// illegal        a kernel writes to address 0                   abort          abort() after the kernels have completed
// reset-mid      cudaDeviceReset between two halves             reset-end      cudaDeviceReset at the end
// exit           exits without waiting for the device           running        a long-running kernel, to be killed
// device-memory  takes nearly all device memory first           host-memory    can map little more host memory
// host-dead      can map no host memory once tracing has begun  much           writes a large trace, for a full disk
// passing        launches pass data on forever, to be killed

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

constexpr unsigned ctas = 64, threads = 64, rounds = 8, elements = ctas * threads;

__global__ void work(const unsigned *in, unsigned *out, unsigned shift) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned sum = 0;
  for (unsigned round = 0; round < rounds; ++round) sum += in[(thread * 7 + round * 13 + shift + sum % 3) % elements];
  out[thread] = sum;
}

__global__ void illegal(const unsigned *in, unsigned *out, unsigned *nowhere) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  out[thread] = in[thread];
  __syncthreads();
  if (thread == elements / 2) *(volatile unsigned *)nowhere = 1;
}

__global__ void asserts(const unsigned *in, unsigned *out) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  out[thread] = in[thread];
  assert(thread != elements / 2);
}

// Runs for about `cycles` clock cycles and keeps accessing memory.
__global__ void endless(const unsigned *in, unsigned *out, unsigned long long cycles) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const long long begin = clock64();
  unsigned sum = 0;
  while ((unsigned long long)(clock64() - begin) < cycles) {
    sum += in[(thread + sum) % elements];
    __nanosleep(20000);
  }
  out[thread] = sum;
}

__global__ void much(const unsigned *in, unsigned *out, unsigned turns) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned sum = thread;
  for (unsigned turn = 0; turn < turns; ++turn) sum = sum * 1664525u + 1013904223u + in[sum % elements];
  out[thread % elements] = sum;
}

static int failed = 0;

static cudaError_t check(cudaError_t error, const char *what) {
  if (error != cudaSuccess) {
    printf("%s: %s\n", what, cudaGetErrorName(error));
    failed = 1;
  }
  return error;
}

struct Memory {
  unsigned *in, *out;
  Memory() {
    std::vector<unsigned> data(elements);
    for (unsigned i = 0; i < elements; ++i) data[i] = i * 2654435761u;
    check(cudaMalloc(&in, elements * sizeof *in), "cudaMalloc");
    check(cudaMalloc(&out, elements * sizeof *out), "cudaMalloc");
    check(cudaMemcpy(in, data.data(), elements * sizeof *in, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  void launch(cudaStream_t stream = 0) {
    for (unsigned launch = 0; launch < 4; ++launch) {
      work<<<ctas, threads, 0, stream>>>(in, out, launch);
      check(cudaGetLastError(), "launch of work");
    }
  }
};

// Limits the process to `bytes` more than it has mapped so far.
static void limit_host(unsigned long long bytes) {
  unsigned long long pages = 0;
  if (FILE *file = fopen("/proc/self/statm", "r")) {
    if (fscanf(file, "%llu", &pages) != 1) pages = 0;
    fclose(file);
  }
  const rlim_t maximum = pages * (unsigned long long)sysconf(_SC_PAGESIZE) + bytes;
  const rlimit limit = {maximum, maximum};
  if (pages == 0 || setrlimit(RLIMIT_AS, &limit)) printf("cannot set the limit\n"), failed = 1;
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "none";
  auto is = [&](const char *name) { return !strcmp(mode, name); };
  setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  if (is("host-memory")) {
    check(cudaFree(nullptr), "cudaFree"); // initialises CUDA before the limit applies
    limit_host(2ull << 30);
  }
  Memory memory;
  if (is("device-memory")) {
    memory.launch(); // loads the program's kernels before the device is full
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    size_t free_bytes = 0, total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    // Allocates blocks down to 2 MiB, then frees some memory: enough for the kernels, too little for a second stream's trace.
    void *reserve;
    check(cudaMalloc(&reserve, 32u << 20), "cudaMalloc");
    for (size_t block = free_bytes; block >= 2u << 20; block /= 2) {
      void *pointer;
      while (cudaMalloc(&pointer, block) == cudaSuccess) {
      }
    }
    cudaGetLastError();
    check(cudaFree(reserve), "cudaFree");
    cudaStream_t stream;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    memory.launch(stream);
  }
  memory.launch();
  if (is("host-dead")) {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    sleep(2); // captured data is written to disk within a second
    limit_host(0);
    memory.launch();
  }
  if (is("exit")) {
    printf("left\n");
    return 6;
  }
  if (is("reset-mid")) {
    check(cudaDeviceReset(), "cudaDeviceReset");
    memory = Memory();
    memory.launch();
  }
  if (is("illegal")) illegal<<<ctas, threads>>>(memory.in, memory.out, nullptr);
  if (is("assert")) asserts<<<ctas, threads>>>(memory.in, memory.out);
  if (is("illegal") || is("assert")) {
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 5;
  }
  if (is("much")) much<<<512, 256>>>(memory.in, memory.out, 400);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  if (is("abort")) {
    printf("aborting\n");
    abort();
  }
  if (is("running")) {
    printf("running\n"); // before the launch, which the CPU backend waits for
    endless<<<ctas, threads>>>(memory.in, memory.out, 60ull * 1700000000ull);
    check(cudaGetLastError(), "launch of endless");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  if (is("passing")) printf("running\n");
  while (is("passing")) {
    work<<<ctas, threads>>>(memory.in, memory.out, 1);
    work<<<ctas, threads>>>(memory.out, memory.in, 2);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    usleep(5000);
  }
  if (is("reset-end")) check(cudaDeviceReset(), "cudaDeviceReset");
  printf("%s\n", failed ? "FAILED" : "PASSED");
  return failed;
}
