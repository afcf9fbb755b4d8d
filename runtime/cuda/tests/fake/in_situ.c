/* A "CUDA program" for the stand-ins, run in situ. Its kernel prints the contents of shadow memory and writes
 * to it as device code does. Usage: `program MODE`. With BY_DRIVER, it allocates memory through the driver API. */
#include "../../device/in_situ.h"
#include "../../device/selection.h"
#include "kernel.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;
struct kernel_node { void *function; dim3 grid, block; unsigned shared; void **arguments, **extra; };
struct fill_node { void *to; size_t pitch; unsigned value, element; size_t width, height; };
struct host_node { void (*function)(void *); void *data; };
int cudaMalloc(void **, size_t), cudaFree(void *), cudaSetDevice(int), cudaMemcpy(void *, const void *, size_t, int), cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *), cudaStreamCreate(void **), cudaDeviceSynchronize(void);
int cudaGraphCreate(void **, unsigned), cudaGraphInstantiateWithFlags(void **, void *, unsigned long long), cudaGraphLaunch(void *, void *);
int cudaGraphAddKernelNode(void **, void *, void **, size_t, const struct kernel_node *);
int cudaGraphAddMemsetNode(void **, void *, void **, size_t, const struct fill_node *);
int cudaGraphAddMemcpyNode1D(void **, void *, void **, size_t, void *, const void *, size_t, int);
int cudaGraphAddHostNode(void **, void *, void **, size_t, const struct host_node *);
int cudaGraphAddChildGraphNode(void **, void *, void **, size_t, void *), cudaGraphAddEmptyNode(void **, void *, void **, size_t);
int cudaGraphAddMemAllocNode(void **, void *, void **, size_t, void *);
int cudaGraphKernelNodeSetParams(void *, const struct kernel_node *), cudaGraphExecKernelNodeSetParams(void *, void *, const struct kernel_node *);
int cudaGraphNodeSetEnabled(void *, void *, unsigned), cudaGraphExecUpdate(void *, void *, void *);
int cudaGraphExecChildGraphNodeSetParams(void *, void *, void *);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);

static struct InSituEntry *entry(const struct InSituContext *context, uint64_t address) {
  const uint64_t number = address >> IN_SITU_BLOCK_SHIFT;
  const struct InSituBlock *block = &context->blocks[number & context->block_mask];
  if (block->number != number) return 0;
  return (struct InSituEntry *)block->shadow + (address & ((1 << IN_SITU_BLOCK_SHIFT) - 1)) / 4;
}

/* Arguments: address, a number to print, context, launch. */
static int traced(const uint64_t *arguments) {
  struct InSituContext *context = (void *)arguments[2];
  if (arguments[3] & SUPERSTEP_LAUNCH_SKIPPED) return printf("skipped, "), 0;
  const uint64_t launch = arguments[3] & ((1 << IN_SITU_LAUNCH_BITS) - 1);
  struct InSituEntry *found = entry(context, arguments[0]);
  const uint64_t slot = arguments[3] >> IN_SITU_SLOT_SHIFT & IN_SITU_SLOT_MASK;
  uint64_t *sums = context->sums + slot * IN_SITU_COPIES * IN_SITU_SUMS;
  if (!found) return sums[IN_SITU_UNSHADOWED_STORED] += 4, printf("%d has no shadow, ", (int)launch), 0;
  printf("%d:%d after ", (int)launch, (int)arguments[1]);
  /* A 4-byte load. */
  if (found->now == IN_SITU_UNKNOWN_WRITER) sums[IN_SITU_BYTES + IN_SITU_UNKNOWN] += 4, printf("?, ");
  else printf("%d, ", found->now == UINT64_MAX ? -1 : (int)(found->now >> 38));
  found->now = launch << 38;
  /* A 4-byte store. */
  sums[IN_SITU_THREADS + (IN_SITU_STORE * 5 + 2) * 8 + IN_SITU_NONE] += 1;
  return 0;
}
static void host(void *text) { printf("%s, ", (const char *)text); }
static struct fake_kernel kernel = {"_Z6tracedPfm", 4, traced};

__attribute__((constructor)) static void announce(void) {
  static const struct { unsigned magic, version; const char *data; void *unused; } wrapper = {0x466243b1, 1, "superstep-module 0abc\n"};
  __cudaRegisterFunction(__cudaRegisterFatBinary((void *)&wrapper), (const char *)&kernel, 0, kernel.name, -1, 0, 0, 0, 0, 0);
}

static uint32_t *memory;
static int (*allocate)(void **, size_t) = cudaMalloc;
static int (*release)(void *) = cudaFree;
static uint64_t number;
static void *arguments[] = {&memory, &number};
static const struct kernel_node *printing(uint64_t value) {
  static struct kernel_node node = {&kernel, {1, 1, 1}, {32, 1, 1}, 0, arguments, 0};
  return number = value, &node;
}
static void launch(void *instance, void *stream) {
  const int error = cudaGraphLaunch(instance, stream);
  cudaDeviceSynchronize();
  printf("%d\n", error);
}

static void launch_kernel(void) {
  cudaLaunchKernel(&kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, arguments, 0, 0);
  cudaDeviceSynchronize();
}

/* Allocates all memory that would be free without shadow memory, whose pieces take at least 8 MiB each. */
static void allocate_all(int is_first_freed) {
  static uint32_t *first;
  void *all;
  first = memory;
  launch_kernel();
  if (is_first_freed) release(memory);
  printf("%d\n", allocate(&all, 24 << 20));
  if (!is_first_freed) launch_kernel();
  release(all);
  allocate((void **)&memory, 1 << 12);
  launch_kernel();
  if (is_first_freed) return;
  arguments[0] = &first;
  launch_kernel();
}

static void launch_on(int device) {
  cudaSetDevice(device);
  cudaLaunchKernel(&kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, arguments, 0, 0);
}

/* `memory` is on device 0. */
static void use_two_devices(void) {
  static uint32_t *other;
  launch_on(0);
  cudaSetDevice(1);
  cudaMalloc((void **)&other, 1 << 12);
  cudaMemcpy(memory, &number, 4, 1);
  launch_on(0);
  arguments[0] = &other;
  launch_on(1);
  arguments[0] = &memory;
  launch_on(0);
  launch_on(1);
  launch_on(0);
  launch_on(0);
  cudaDeviceSynchronize();
}

int main(int argc, char **argv) {
  void *graph, *child, *instance, *stream, *first, *second, *fill, *inner, *copy, *call, *empty;
  uint32_t from = 7;
  struct { int result; void *nodes[2]; } updated;
  setvbuf(stdout, 0, _IONBF, 0);
  if (getenv("BY_DRIVER")) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    allocate = dlsym(driver, "cuMemAlloc_v2");
    release = dlsym(driver, "cuMemFree_v2");
  }
  allocate((void **)&memory, 1 << 12);
  if (!strcmp(argv[1], "idle") || !strcmp(argv[1], "pressure")) return allocate_all(!strcmp(argv[1], "idle")), 0;
  if (!strcmp(argv[1], "room")) return printf("%d\n", cudaMalloc(&first, 31 << 20)), 0;
  if (!strcmp(argv[1], "devices")) return use_two_devices(), 0;
  cudaStreamCreate(&stream);
  cudaGraphCreate(&graph, 0);
  cudaGraphCreate(&child, 0);
  if (!strcmp(argv[1], "refused")) {
    cudaGraphAddMemAllocNode(&first, graph, 0, 0, 0);
    cudaGraphInstantiateWithFlags(&instance, graph, 0);
    launch(instance, stream);
    return 0;
  }
  /* Two kernels run in sequence, then a fill, a graph with one kernel, a copy and a host function. */
  cudaGraphAddKernelNode(&first, graph, 0, 0, printing(10));
  cudaGraphAddKernelNode(&second, graph, &first, 1, printing(20));
  cudaGraphAddMemsetNode(&fill, graph, &second, 1, &(struct fill_node){memory, 0, 3, 4, 2, 1});
  cudaGraphAddKernelNode(&inner, child, 0, 0, printing(30));
  cudaGraphAddChildGraphNode(&inner, graph, &fill, 1, child);
  cudaGraphAddEmptyNode(&empty, graph, &inner, 1);
  cudaGraphAddMemcpyNode1D(&copy, graph, &empty, 1, memory, &from, sizeof from, 1);
  cudaGraphAddHostNode(&call, graph, &copy, 1, &(struct host_node){host, "host"});
  cudaGraphInstantiateWithFlags(&instance, graph, 0);
  launch(instance, stream);
  printf("%u %u\n", memory[0], memory[1]);
  /* Changing the graph does not affect the instance's launches. Changing the instance does. */
  cudaGraphKernelNodeSetParams(first, printing(11));
  cudaGraphExecKernelNodeSetParams(instance, second, printing(21));
  cudaGraphNodeSetEnabled(instance, fill, 0);
  launch(instance, stream);
  cudaGraphExecUpdate(instance, graph, &updated);
  cudaGraphExecKernelNodeSetParams(instance, second, printing(22));
  launch(instance, stream);
  printf("%d\n", cudaGraphExecChildGraphNodeSetParams(instance, inner, child));
  return 0;
}
