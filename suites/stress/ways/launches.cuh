// All the ways to launch a kernel except graphs; see ways.cu.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <thread>
#include <vector>

static std::atomic<bool> failed{false};
static std::atomic<unsigned long long> expected{0};

static bool check(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return true;
  printf("%s: %s\n", what, cudaGetErrorName(error));
  failed = true;
  return false;
}

constexpr unsigned ctas = 16, threads = 64, elements = ctas * threads;

// A step whose result depends on the steps before it, with three accesses per thread.
__global__ void step(const unsigned *in, unsigned *data, unsigned add) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  data[thread] = data[thread] * 3 + in[thread] + add;
}

// Runs for `cycles` clock cycles and counts its loads. Stores to counts[thread] twice; the second value is the number of loads.
__global__ void busy(const unsigned *in, unsigned *counts, unsigned long long cycles) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const long long begin = clock64();
  unsigned sum = 0, loads = 0;
  while ((unsigned long long)(clock64() - begin) < cycles) {
    sum += in[(thread + sum) % elements];
    ++loads;
    __nanosleep(2000);
  }
  counts[thread] = sum;
  __threadfence();
  counts[thread] = loads;
}

__global__ void tiny(const unsigned *in, unsigned *out) { out[threadIdx.x] = in[threadIdx.x]; }

// A barrier across all CTAs in each round; polls[cta] counts how often its thread 0 polled.
__global__ void meet(unsigned *arrived, unsigned *data, unsigned *polls, unsigned rounds) {
  unsigned polled = 0;
  for (unsigned round = 1; round <= rounds; ++round) {
    if (threadIdx.x == 0) {
      atomicAdd(arrived, 1u);
      do ++polled;
      while (*(volatile unsigned *)arrived < round * gridDim.x);
    }
    __syncthreads();
    atomicAdd(data, 1u);
  }
  if (threadIdx.x == 0) polls[blockIdx.x] = polled;
}

extern __shared__ unsigned dynamic[];

__global__ void through_shared(const unsigned *in, unsigned *out, unsigned words) {
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) dynamic[i] = in[i % elements];
  __syncthreads();
  unsigned sum = 0;
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) sum += dynamic[words - 1 - i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Two arrays and their expected contents.
struct Data {
  std::vector<unsigned> in, wanted;
  unsigned *device_in = nullptr, *data = nullptr;

  Data() : in(elements), wanted(elements) {
    for (unsigned i = 0; i < elements; ++i) in[i] = i * 2654435761u;
    check(cudaMalloc(&device_in, elements * sizeof(unsigned)), "cudaMalloc");
    check(cudaMalloc(&data, elements * sizeof(unsigned)), "cudaMalloc");
    check(cudaMemcpy(device_in, in.data(), elements * sizeof(unsigned), cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemset(data, 0, elements * sizeof(unsigned)), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  // Applies a step to the expected contents and counts its accesses.
  void stepped(unsigned add) {
    for (unsigned i = 0; i < elements; ++i) wanted[i] = wanted[i] * 3 + in[i] + add;
    expected += 3ull * elements;
  }

  void launch(unsigned add, cudaStream_t stream = 0) {
    step<<<ctas, threads, 0, stream>>>(device_in, data, add);
    check(cudaGetLastError(), "launch of step");
    stepped(add);
  }

  void compare(const char *what) {
    std::vector<unsigned> actual(elements);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(actual.data(), data, elements * sizeof(unsigned), cudaMemcpyDeviceToHost), "cudaMemcpy");
    if (actual != wanted) {
      printf("%s: wrong results\n", what);
      failed = true;
    }
  }

  std::vector<unsigned> read(const unsigned *from, unsigned words) {
    std::vector<unsigned> actual(words);
    check(cudaMemcpy(actual.data(), from, words * sizeof(unsigned), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return actual;
  }
};

static void plain() {
  Data first, second;
  cudaStream_t stream;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  for (unsigned i = 0; i < 3; ++i) {
    first.launch(i);
    second.launch(i, stream);
  }
  first.compare("default stream");
  second.compare("stream");
}

// Successive launches in streams of all kinds; a wrong order yields wrong results.
static void streams() {
  Data data;
  cudaStream_t blocking, non_blocking;
  cudaEvent_t event;
  check(cudaStreamCreate(&blocking), "cudaStreamCreate");
  check(cudaStreamCreateWithFlags(&non_blocking, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check(cudaEventCreate(&event), "cudaEventCreate");
  for (unsigned i = 0; i < 50; ++i) {
    data.launch(4 * i, cudaStreamLegacy);
    data.launch(4 * i + 1, blocking); // waits for the legacy stream implicitly
    check(cudaEventRecord(event, blocking), "cudaEventRecord");
    check(cudaStreamWaitEvent(non_blocking, event, 0), "cudaStreamWaitEvent");
    data.launch(4 * i + 2, non_blocking);
    check(cudaEventRecord(event, non_blocking), "cudaEventRecord");
    check(cudaStreamWaitEvent(cudaStreamPerThread, event, 0), "cudaStreamWaitEvent");
    data.launch(4 * i + 3, cudaStreamPerThread); // the legacy stream waits for it implicitly
  }
  data.compare("streams");
}

// Runs two kernels of one CTA each and measures the fraction of the shorter one's time during which they overlap.
static void overlap() {
  Data data;
  cudaStream_t stream[2];
  cudaEvent_t origin, begin[2], end[2];
  unsigned *counts[2];
  check(cudaEventCreate(&origin), "cudaEventCreate");
  for (int i = 0; i < 2; ++i) {
    check(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaEventCreate(&begin[i]), "cudaEventCreate");
    check(cudaEventCreate(&end[i]), "cudaEventCreate");
    check(cudaMalloc(&counts[i], threads * sizeof(unsigned)), "cudaMalloc");
  }
  for (int turn = 0; turn < 2; ++turn) { // the first turn loads the kernel and allocates memory
    check(cudaEventRecord(origin, stream[0]), "cudaEventRecord");
    for (int i = 0; i < 2; ++i) {
      check(cudaEventRecord(begin[i], stream[i]), "cudaEventRecord");
      busy<<<1, threads, 0, stream[i]>>>(data.device_in, counts[i], 100000000ull);
      check(cudaGetLastError(), "launch of busy");
      check(cudaEventRecord(end[i], stream[i]), "cudaEventRecord");
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    for (int i = 0; i < 2; ++i)
      for (unsigned loads : data.read(counts[i], threads)) expected += loads + 2;
  }
  float from[2], to[2];
  for (int i = 0; i < 2; ++i) {
    check(cudaEventElapsedTime(&from[i], origin, begin[i]), "cudaEventElapsedTime");
    check(cudaEventElapsedTime(&to[i], origin, end[i]), "cudaEventElapsedTime");
  }
  const float shared_ms = std::min(to[0], to[1]) - std::max(from[0], from[1]);
  const float shorter = std::min(to[0] - from[0], to[1] - from[1]);
  printf("{\"first_ms\": [%.2f, %.2f], \"second_ms\": [%.2f, %.2f], \"overlap\": %.3f}\n", from[0], to[0], from[1], to[1],
         shared_ms / shorter);
  if (shared_ms < 0.5f * shorter) printf("the kernels did not overlap\n"), failed = true;
}

static void threads_of_the_host() {
  std::vector<std::thread> hosts;
  for (int host = 0; host < 4; ++host)
    hosts.emplace_back([host] {
      Data data;
      cudaStream_t stream = cudaStreamPerThread;
      if (host % 2) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
      for (unsigned i = 0; i < 200; ++i) data.launch(i * 4 + host, stream);
      data.compare("host thread");
    });
  for (std::thread &host : hosts) host.join();
}

static void launches(unsigned number) {
  Data data;
  auto run = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i) tiny<<<1, 32>>>(data.device_in, data.data);
    check(cudaGetLastError(), "launch of tiny");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    expected += 64ull * count;
  };
  run(100);
  const auto begin = std::chrono::steady_clock::now();
  run(number);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  printf("{\"launches\": %u, \"microseconds_each\": %.3f}\n", number, seconds / number * 1e6);
}

static void cooperative() {
  Data data;
  int sms = 0, each = 0;
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, meet, 128, 0), "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  unsigned grid = std::min(sms * each, int(elements)), rounds = 10, *arrived, *polls;
  check(cudaMalloc(&arrived, 2 * sizeof(unsigned)), "cudaMalloc");
  check(cudaMalloc(&polls, grid * sizeof(unsigned)), "cudaMalloc");
  check(cudaMemset(arrived, 0, 2 * sizeof(unsigned)), "cudaMemset");
  unsigned *sum = arrived + 1;
  void *arguments[] = {&arrived, &sum, &polls, &rounds};
  check(cudaLaunchCooperativeKernel((const void *)meet, grid, 128, arguments, 0, 0), "cudaLaunchCooperativeKernel");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const std::vector<unsigned> actual = data.read(arrived, 2);
  if (actual[0] != grid * rounds || actual[1] != grid * rounds * 128) printf("cooperative: wrong results\n"), failed = true;
  expected += grid * rounds * 129ull + grid;
  for (unsigned polled : data.read(polls, grid)) expected += polled;
  printf("{\"ctas\": %u}\n", grid);
}

static void too_large() {
  Data data;
  unsigned *arrived = data.data, *sum = arrived + 1, *polls = arrived + 2, rounds = 1;
  void *arguments[] = {&arrived, &sum, &polls, &rounds};
  const cudaError_t error = cudaLaunchCooperativeKernel((const void *)meet, 1 << 20, 128, arguments, 0, 0);
  printf("%s\n", cudaGetErrorName(error));
  if (error != cudaErrorCooperativeLaunchTooLarge) failed = true;
  cudaGetLastError();
}

static void clusters() {
  Data data;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 4;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  for (unsigned i = 0; i < 20; ++i) {
    cudaLaunchConfig_t config = {};
    config.gridDim = ctas;
    config.blockDim = threads;
    config.attrs = &attribute;
    config.numAttrs = i % 2;
    const unsigned *in = data.device_in;
    void *arguments[] = {&in, &data.data, &i};
    check(cudaLaunchKernelExC(&config, (const void *)step, arguments), "cudaLaunchKernelExC");
    data.stepped(i);
  }
  data.compare("clusters");
}

static void shared() {
  Data data;
  int max_bytes = 0;
  cudaFuncAttributes attributes;
  check(cudaDeviceGetAttribute(&max_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "cudaDeviceGetAttribute");
  check(cudaFuncGetAttributes(&attributes, through_shared), "cudaFuncGetAttributes");
  max_bytes -= int(attributes.sharedSizeBytes);
  check(cudaFuncSetAttribute(through_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, max_bytes), "cudaFuncSetAttribute");
  const unsigned words = max_bytes / sizeof(unsigned);
  through_shared<<<ctas, threads, max_bytes>>>(data.device_in, data.data, words);
  check(cudaGetLastError(), "launch of through_shared");
  const std::vector<unsigned> actual = data.read(data.data, elements);
  for (unsigned i = 0; i < elements; ++i) {
    unsigned sum = 0;
    for (unsigned w = i % threads; w < words; w += threads) sum += data.in[(words - 1 - w) % elements];
    if (actual[i] != sum && !failed) printf("shared: wrong results\n"), failed = true;
  }
  expected += ctas * (unsigned long long)words + elements;
  printf("{\"dynamic_shared_bytes\": %d}\n", max_bytes);
}

using LaunchKernel = int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cudaStream_t, void **,
                             void **);

template <typename Function> static Function driver(const char *name) {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found;
  check(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found), name);
  return (Function)function;
}

static void handles() {
  Data data;
  cudaFunction_t function;
  cudaKernel_t kernel;
  check(cudaGetFuncBySymbol(&function, (const void *)step), "cudaGetFuncBySymbol");
  check(cudaGetKernel(&kernel, (const void *)step), "cudaGetKernel");
  const LaunchKernel launch = driver<LaunchKernel>("cuLaunchKernel");
  if (failed) return;
  for (unsigned i = 0; i < 20; ++i) {
    const unsigned *in = data.device_in;
    void *arguments[] = {&in, &data.data, &i};
    if (i % 2) check(cudaLaunchKernel((const void *)kernel, ctas, threads, arguments, 0, 0), "cudaLaunchKernel");
    else check((cudaError_t)launch(function, ctas, 1, 1, threads, 1, 1, 0, 0, arguments, nullptr), "cuLaunchKernel");
    data.stepped(i);
  }
  data.compare("handles");
}

// Memory that the runtime did not allocate.
static void driver_memory() {
  Data data;
  const auto allocate = driver<int (*)(unsigned **, size_t)>("cuMemAlloc");
  const auto release = driver<int (*)(unsigned *)>("cuMemFree");
  if (failed) return;
  for (unsigned i = 0; i < 20; ++i) {
    if (i % 10 == 0) {
      check(i ? (cudaError_t)release(data.data) : cudaFree(data.data), "cuMemFree");
      check((cudaError_t)allocate(&data.data, elements * sizeof(unsigned)), "cuMemAlloc");
      check(cudaMemcpy(data.data, data.wanted.data(), elements * sizeof(unsigned), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    data.launch(i);
    if (i == 9) data.compare("driver-memory");
  }
  data.compare("driver-memory");
}

// An uninstrumented module, whose launch must be detected.
static void module() {
  static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .entry own(.param .u64 to) {\n"
                             "  .reg .b64 %a;\n  ld.param.u64 %a, [to];\n  st.global.u32 [%a], 42;\n  ret;\n}\n";
  Data data;
  void *loaded = nullptr, *function = nullptr, *arguments[] = {&data.data};
  const auto load = driver<int (*)(void **, const void *)>("cuModuleLoadData");
  const auto find = driver<int (*)(void **, void *, const char *)>("cuModuleGetFunction");
  const LaunchKernel launch = driver<LaunchKernel>("cuLaunchKernel");
  if (failed) return;
  check((cudaError_t)load(&loaded, text), "cuModuleLoadData");
  check((cudaError_t)find(&function, loaded, "own"), "cuModuleGetFunction");
  check((cudaError_t)launch(function, 1, 1, 1, 1, 1, 1, 0, 0, arguments, nullptr), "cuLaunchKernel");
  data.launch(7);
  data.wanted[0] += 42 * 3;
  data.compare("module");
}

static void devices() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  std::vector<std::thread> hosts;
  for (int device = 0; device < count; ++device)
    hosts.emplace_back([device] {
      check(cudaSetDevice(device), "cudaSetDevice");
      Data data;
      for (unsigned i = 0; i < 100; ++i) data.launch(i + device);
      data.compare("device");
    });
  for (std::thread &host : hosts) host.join();
  printf("{\"devices\": %d}\n", count);
}
