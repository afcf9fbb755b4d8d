/* Host side of the test programs. The first argument names the scenario to run. */
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KERNEL(name) \
  static void name##_stub(void) {}
KERNEL(add) KERNEL(shape) KERNEL(reverse) KERNEL(warp) KERNEL(atomics) KERNEL(fail) KERNEL(fail_fibers) KERNEL(deadlock)
KERNEL(print) KERNEL(allocate) KERNEL(many) KERNEL(many_fibers) KERNEL(stencil) KERNEL(missing) KERNEL(unregistered) KERNEL(wait_for_next) KERNEL(load_rows)
static int counter_shadow, factor_shadow;

__attribute__((constructor)) static void register_binary(void) {
  static const struct {
    unsigned magic, version;
    const void *data;
    void *unused;
  } wrapper = {0x466243b1, 1, "superstep-module 3\n", NULL};
  void **handle = __cudaRegisterFatBinary(&wrapper);
#define REGISTER(name) __cudaRegisterFunction(handle, (const void *)name##_stub, (char *)#name, #name, -1, 0, 0, 0, 0, 0);
  REGISTER(add) REGISTER(shape) REGISTER(reverse) REGISTER(warp) REGISTER(atomics) REGISTER(fail) REGISTER(fail_fibers)
  REGISTER(deadlock) REGISTER(print) REGISTER(allocate) REGISTER(many) REGISTER(many_fibers) REGISTER(stencil) REGISTER(missing)
  REGISTER(wait_for_next) REGISTER(load_rows)
  __cudaRegisterVar(handle, &counter_shadow, "device_counter", "device_counter", 0, 4, 0, 0);
  __cudaRegisterVar(handle, &factor_shadow, "constant_factor", "constant_factor", 0, 4, 1, 0);
  __cudaRegisterFatBinaryEnd(handle);
}

static void expect(int ok, const char *what) {
  if (!ok) {
    printf("FAILED: %s\n", what);
    fflush(stdout);
    _Exit(3);
  }
}
#define EXPECT(condition) expect(condition, #condition)
#define OK(call) \
  do { \
    cudaError_t error = call; \
    if (error) \
      printf("%s: %d %s\n", #call, error, cudaGetErrorString(error)); \
    EXPECT(error == 0 && #call); \
  } while (0)

static dim3 dim(unsigned x, unsigned y, unsigned z) { return (dim3){x, y, z}; }
#define LAUNCH(name, grid, block, shared, stream, ...) \
  ({ \
    void *arguments[] = {__VA_ARGS__}; \
    cudaLaunchKernel((const void *)name##_stub, grid, block, arguments, shared, stream); \
  })
static void *device(size_t bytes) {
  void *pointer = NULL;
  OK(cudaMalloc(&pointer, bytes));
  return pointer;
}

static void run_add(void) {
  enum { N = 1000 };
  static int a[N], b[N], c[N];
  for (int i = 0; i < N; i++)
    a[i] = i, b[i] = 7 * i;
  int *da = device(sizeof a), *db = device(sizeof b), *dc = device(sizeof c), n = N;
  EXPECT((uintptr_t)da % 256 == 0);
  OK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
  OK(cudaMemset(dc, 0xff, sizeof c));
  for (int launch = 0; launch < 3; launch++) {
    dim3 grid, block;
    size_t shared;
    void *stream;
    EXPECT(__cudaPushCallConfiguration(dim(16, 1, 1), dim(70, 1, 1), 0, NULL) == 0);
    OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    OK(LAUNCH(add, grid, block, shared, stream, &da, &db, &dc, &n));
  }
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
  for (int i = 0; i < N; i++)
    EXPECT(c[i] == 8 * i);
  OK(cudaFree(da));
}

static void run_shape(void) {
  dim3 grid = dim(3, 2, 2), block = dim(5, 4, 3);
  enum { CTAS = 12, THREADS = 60 };
  static uint32_t out[CTAS * THREADS];
  uint32_t *d = device(sizeof out);
  OK(LAUNCH(shape, grid, block, 0, NULL, &d));
  OK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDefault));
  for (uint32_t i = 0; i < CTAS * THREADS; i++) {
    uint32_t t = i % THREADS, c = i / THREADS;
    uint32_t expected = t % 5 | t / 5 % 4 << 4 | t / 20 << 8 | c % 3 << 12 | c / 3 % 2 << 16 | c / 6 << 20 | t % 32 << 24;
    EXPECT(out[i] == expected);
  }
}

static void check_reverse(int threads, int n) {
  enum { CTAS = 40, MAX_THREADS = 1024 };
  static int in[CTAS * MAX_THREADS], out[CTAS * MAX_THREADS];
  int count = CTAS * threads, last = (n < threads ? n : threads) - 1;
  for (int i = 0; i < count; i++)
    in[i] = i * 3;
  int *din = device(sizeof in), *dout = device(sizeof out);
  OK(cudaMemcpy(din, in, (size_t)count * 4, cudaMemcpyHostToDevice));
  OK(LAUNCH(reverse, dim(CTAS, 1, 1), dim((unsigned)threads, 1, 1), (size_t)threads * 4, NULL, &din, &dout, &n));
  OK(cudaMemcpy(out, dout, (size_t)count * 4, cudaMemcpyDeviceToHost));
  for (int c = 0; c < CTAS; c++)
    for (int t = 0; t <= last; t++) {
      int *part = in + c * threads;
      EXPECT(out[c * threads + t] == part[last - t] + (t > 0 ? part[last - t + 1] : 0));
    }
}
static void run_reverse(void) {
  check_reverse(256, 256);
  check_reverse(1024, 1024);
  check_reverse(100, 77);
  check_reverse(1, 1);
}

static void run_warp(void) {
  enum { THREADS = 64 };
  static int out[THREADS][8];
  int *d = device(sizeof out);
  OK(LAUNCH(warp, dim(2, 1, 1), dim(THREADS, 1, 1), 0, NULL, &d));
  OK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
  uint32_t thirds = 0;
  for (int lane = 0; lane < 32; lane += 3)
    thirds |= 1u << lane;
  for (int t = 0; t < THREADS; t++) {
    EXPECT(out[t][0] == 496);
    EXPECT((uint32_t)out[t][1] == thirds);
    EXPECT((uint32_t)out[t][2] == 0x11111111u << (t % 4));
    EXPECT(out[t][3] == 496);
    EXPECT(out[t][4] == (t % 32 < 8 ? 0xff : 0));
    EXPECT(out[t][5] == 32);
    EXPECT(out[t][6] == 1);
    EXPECT(out[t][7] == 16);
  }
}

static void run_atomics(void) {
  int bins[7], count = 7, total = 0, counter = 0;
  float factor = 3.0f;
  int *d = device(sizeof bins);
  OK(cudaMemset(d, 0, sizeof bins));
  OK(cudaMemcpyToSymbol(&factor_shadow, &factor, sizeof factor, 0, cudaMemcpyHostToDevice));
  OK(LAUNCH(atomics, dim(100, 1, 1), dim(128, 1, 1), 0, NULL, &d, &count));
  OK(cudaMemcpy(bins, d, sizeof bins, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 7; i++)
    total += bins[i];
  EXPECT(total == 12800);
  OK(cudaMemcpyFromSymbol(&counter, &counter_shadow, sizeof counter, 0, cudaMemcpyDeviceToHost));
  EXPECT(counter == 38400);
  void *address = NULL;
  OK(cudaGetSymbolAddress(&address, &counter_shadow));
  OK(cudaMemset(address, 0, 4));
  EXPECT(cudaMemcpyToSymbol(&counter_shadow, bins, 8, 0, cudaMemcpyHostToDevice) == 1);
}

static void run_fail(int how, int fibers) {
  int n = 128;
  int *d = device((size_t)n * 4);
  printf("%d\n", fibers ? LAUNCH(fail_fibers, dim(2, 1, 1), dim(64, 1, 1), 0, NULL, &d, &how, &n)
                        : LAUNCH(fail, dim(2, 1, 1), dim(64, 1, 1), 0, NULL, &d, &how, &n));
  printf("%d\n", cudaDeviceSynchronize());
  printf("%d\n", LAUNCH(fail, dim(2, 1, 1), dim(64, 1, 1), 0, NULL, &d, &how, &n));
  printf("%d\n", cudaGetLastError());
  OK(cudaDeviceReset());
  how = 100;
  n = 128;
  d = device((size_t)n * 4);
  OK(LAUNCH(fail, dim(2, 1, 1), dim(64, 1, 1), 0, NULL, &d, &how, &n));
  OK(cudaDeviceSynchronize());
}

static void run_errors(void) {
  int *d = device(256), n = 0;
  EXPECT(LAUNCH(add, dim(1, 1, 1), dim(0, 1, 1), 0, NULL, &d, &d, &d, &n) == 9);
  EXPECT(cudaGetLastError() == 9 && cudaGetLastError() == 0);
  EXPECT(LAUNCH(add, dim(0, 1, 1), dim(1, 1, 1), 0, NULL, &d, &d, &d, &n) == 9);
  EXPECT(LAUNCH(add, dim(1, 1, 1), dim(1025, 1, 1), 0, NULL, &d, &d, &d, &n) == 9);
  EXPECT(LAUNCH(add, dim(1, 1, 1), dim(64, 32, 1), 0, NULL, &d, &d, &d, &n) == 9);
  EXPECT(LAUNCH(add, dim(1, 65536, 1), dim(1, 1, 1), 0, NULL, &d, &d, &d, &n) == 9);
  EXPECT(LAUNCH(add, dim(1, 1, 1), dim(1, 1, 1), 50000, NULL, &d, &d, &d, &n) == 1);
  OK(cudaFuncSetAttribute((const void *)add_stub, 8, 60000));
  OK(LAUNCH(add, dim(1, 1, 1), dim(1, 1, 1), 50000, NULL, &d, &d, &d, &n));
  EXPECT(cudaFuncSetAttribute((const void *)add_stub, 8, 300000) == 1);
  EXPECT(LAUNCH(missing, dim(1, 1, 1), dim(1, 1, 1), 0, NULL, &d) == 98);
  EXPECT(LAUNCH(unregistered, dim(1, 1, 1), dim(1, 1, 1), 0, NULL, &d) == 98);
  EXPECT(LAUNCH(add, dim(1, 1, 1), dim(1, 1, 1), 0, (void *)0x1234, &d, &d, &d, &n) == 400);
  EXPECT(cudaMemcpy(d, &n, 300, cudaMemcpyHostToDevice) == 1);
  EXPECT(cudaFree((char *)d + 1) == 1);
  OK(cudaFree(d));
  EXPECT(cudaFree(d) == 1);
  OK(cudaFree(NULL));
}

static void count_callback(cudaStream_t stream, cudaError_t status, void *data) {
  (void)stream;
  *(int *)data += status == 0;
}
static void run_streams(void) {
  cudaStream_t streams[2];
  cudaEvent_t start, end;
  int *d = device(4096), n = 10, calls = 0;
  float milliseconds = -1;
  OK(cudaStreamCreate(streams));
  OK(cudaStreamCreate(streams + 1));
  OK(cudaEventCreate(&start));
  OK(cudaEventCreate(&end));
  OK(cudaEventRecord(start, streams[0]));
  for (int launch = 0; launch < 4; launch++)
    OK(LAUNCH(add, dim(1, 1, 1), dim(32, 1, 1), 0, launch == 3 ? NULL : streams[launch % 2], &d, &d, &d, &n));
  OK(cudaStreamAddCallback(streams[0], count_callback, &calls, 0));
  OK(cudaEventRecord(end, streams[0]));
  OK(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT(milliseconds >= 0 && calls == 1);
  OK(cudaStreamDestroy(streams[0]));
  EXPECT(cudaStreamDestroy(streams[0]) == 400);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
static void run_stencil(int width, int launches) {
  size_t bytes = (size_t)width * (size_t)width * 4;
  float *in = device(bytes), *out = device(bytes);
  double start = seconds();
  for (int launch = 0; launch < launches; launch++)
    OK(LAUNCH(stencil, dim((unsigned)width / 16, (unsigned)width / 16, 1), dim(16, 16, 1), 0, NULL, &in, &out, &width, &width));
  double accesses = 6.0 * (width - 2) * (width - 2) * launches;
  printf("%.1f M accesses/s\n", accesses / (seconds() - start) * 1e-6);
  int n = 0;
  start = seconds();
  for (int launch = 0; launch < 10000; launch++)
    OK(LAUNCH(add, dim(2, 1, 1), dim(32, 1, 1), 0, NULL, &in, &in, &in, &n));
  printf("%.1f us per launch\n", (seconds() - start) / 10000 * 1e6);
}

int main(int count, char **names) {
  const char *name = count > 1 ? names[1] : "";
  int argument = count > 2 ? atoi(names[2]) : 0, second = count > 3 ? atoi(names[3]) : 0;
  if (!strcmp(name, "add"))
    run_add();
  else if (!strcmp(name, "shape"))
    run_shape();
  else if (!strcmp(name, "reverse"))
    run_reverse();
  else if (!strcmp(name, "warp"))
    run_warp();
  else if (!strcmp(name, "atomics"))
    run_atomics();
  else if (!strcmp(name, "fail"))
    run_fail(argument, second);
  else if (!strcmp(name, "errors"))
    run_errors();
  else if (!strcmp(name, "streams"))
    run_streams();
  else if (!strcmp(name, "deadlock")) {
    OK(LAUNCH(deadlock, dim(1, 1, 1), dim(64, 1, 1), 0, NULL, NULL));
    EXPECT(cudaDeviceSynchronize() == 719);
  } else if (!strcmp(name, "load_rows")) {
    OK(LAUNCH(load_rows, dim(1, 1, 1), dim(argument, 1, 1), 0, NULL, NULL));
    EXPECT(cudaDeviceSynchronize() == (argument < 32 ? 719 : 700));
  } else if (!strcmp(name, "print")) {
    int value = 5;
    printf("before\n");
    OK(LAUNCH(print, dim(1, 1, 1), dim(2, 1, 1), 0, NULL, &value));
    printf("after\n");
  } else if (!strcmp(name, "allocate")) {
    int out[40], *d = device(sizeof out);
    OK(LAUNCH(allocate, dim(1, 1, 1), dim(40, 1, 1), 64, NULL, &d));
    OK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < 40; t++)
      EXPECT(out[t] == (t % 2 ? t + 1 : -t));
  } else if (!strcmp(name, "wait")) {
    int out[7], *d = device(sizeof out);
    OK(cudaMemset(d, 0, sizeof out));
    OK(LAUNCH(wait_for_next, dim(7, 1, 1), dim(1, 1, 1), 0, NULL, &d));
    OK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    for (int cta = 0; cta < 7; cta++)
      EXPECT(out[cta] == cta + 1);
  } else if (!strcmp(name, "many")) {
    int *d = device(256), times = argument;
    OK(LAUNCH(many, dim(1, 1, 1), dim(1, 1, 1), 0, NULL, &d, &times));
    times = second;
    OK(LAUNCH(many_fibers, dim(1, 1, 1), dim(64, 1, 1), 0, NULL, &d, &times));
    OK(LAUNCH(many, dim(1, 1, 1), dim(64, 1, 1), 0, NULL, &d, &times));
  } else if (!strcmp(name, "graph")) {
    void *graph;
    cudaGraphConditionalHandleCreate(&graph, 0, 0, 0);
  } else if (!strcmp(name, "abort")) {
    run_add();
    abort();
  } else if (!strcmp(name, "crash")) {
    run_add();
    *(volatile int *)8 = 1;
  } else if (!strcmp(name, "stencil"))
    run_stencil(argument, second);
  else
    return 2;
  printf("done\n");
  return 0;
}
