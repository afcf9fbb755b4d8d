/* A "CUDA program" for the stand-in: its kernels call the probe as device code does. Usage: `program MODE`. */
#include "../../device/context.h"
#include "kernel.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct { unsigned x, y, z; } dim3;
int cudaMalloc(void **, size_t), cudaFree(void *), cudaMemcpy(void *, const void *, size_t, int), cudaMemset(void *, int, size_t);
int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaStreamCreate(void **), cudaStreamDestroy(void *), cudaStreamBeginCapture(void *, int);
int cudaFuncGetAttributes(size_t *, const void *);
int cudaDeviceSynchronize(void), cudaDeviceReset(void), cudaSetDevice(int);
struct ipc { size_t offset; char rest[56]; };
int cudaIpcGetMemHandle(struct ipc *, void *), cudaIpcOpenMemHandle(void **, struct ipc, unsigned), cudaIpcCloseMemHandle(void *);
int cuMemImportFromShareableHandle(unsigned long long *, void *, int), cuMemRelease(unsigned long long);
int cuMemMap(unsigned long long, size_t, size_t, unsigned long long, unsigned long long), cuMemUnmap(unsigned long long, size_t);
void **__cudaRegisterFatBinary(void *);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);

#ifndef PROBE
#define PROBE "trace"
#endif

static uint64_t store_word(uint64_t *word, uint64_t value) { return __atomic_exchange_n(word, value, __ATOMIC_RELAXED); }

/* Acts like device/probe_trace_thesis.cu for one warp with all 32 lanes active, or like device/probe_count.cu. */
static void probe(struct TraceContext *trace, unsigned cta, unsigned site, uint64_t address) {
  if (trace->version != SUPERSTEP_CONTEXT_VERSION) abort();
  if (!strcmp(PROBE, "count")) {
    __atomic_fetch_add(&trace->site_counts[site >> 16][site & 0xffff], 32, __ATOMIC_RELAXED);
    return;
  }
  const unsigned sm = cta & 3;
  struct SuperstepBin *bin = &trace->bins[sm & trace->bin_mask];
  const uint64_t first = __atomic_fetch_add(&bin->reserved, 32, __ATOMIC_RELAXED), end = first + 32;
  for (uint64_t written = first; written < end;) {
    uint64_t limit;
    while ((limit = __atomic_load_n(&bin->released, __ATOMIC_ACQUIRE) + trace->bin_records) <= written) sched_yield();
    const uint64_t until = limit < end ? limit : end;
    for (uint64_t position = written; position < until; ++position) {
      const uint64_t lane = position - first, lap = (position >> trace->bin_records_log2) + 1;
      struct SuperstepRecord *record =
          &trace->records[(sm & trace->bin_mask) * trace->bin_records + (position & (trace->bin_records - 1))];
      store_word(&record->cta_site, (uint64_t)cta << 32 | site);
      store_word(&record->address, address + lane * 4);
      store_word(&record->detail, 4ull << SUPERSTEP_DETAIL_WIDTH_SHIFT | lane | sm << SUPERSTEP_DETAIL_SM_SHIFT |
                                        31u << SUPERSTEP_DETAIL_GROUP_SHIFT | (lap & 1) << SUPERSTEP_DETAIL_LAP_SHIFT |
                                        (uint64_t)(lane == 0) << SUPERSTEP_DETAIL_LEADER_SHIFT);
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_fetch_add(&bin->acknowledged, until - written, __ATOMIC_RELAXED);
    written = until;
  }
}

struct job { struct TraceContext *trace; unsigned cta; uint64_t address, rounds; };

static void *run_cta(void *data) {
  const struct job *job = data;
  for (uint64_t round = 0; round < job->rounds; ++round) {
    probe(job->trace, job->cta, 0, job->address + job->cta * 128);
    probe(job->trace, job->cta, 1, job->address + job->cta * 128);
  }
  return 0;
}

/* Arguments: address, rounds, context, launch. Runs eight CTAs of one warp each. */
static int traced(const uint64_t *arguments) {
  pthread_t threads[8];
  struct job jobs[8];
  for (unsigned cta = 0; cta < 8; ++cta) {
    jobs[cta] = (struct job){(void *)arguments[2], cta, arguments[0], arguments[1]};
    pthread_create(&threads[cta], 0, run_cta, &jobs[cta]);
  }
  for (unsigned cta = 0; cta < 8; ++cta) pthread_join(threads[cta], 0);
  return 0;
}
static int faulting(const uint64_t *arguments) {
  traced(arguments);
  ((struct TraceContext *)arguments[2])->bins[0].reserved += 5; /* a warp that never wrote */
  return 700;
}
static int endless(const uint64_t *arguments) {
  traced(arguments);
  for (;;) pause();
}
static int slow(const uint64_t *arguments) {
  traced(arguments);
  sleep(3);
  return 0;
}
static int plain(const uint64_t *arguments) { return arguments[0] == 0; }

static struct fake_kernel kernels[] = {
    {"_Z6tracedPfm", 4, traced}, {"_Z8faultingPfm", 4, faulting}, {"_Z7endlessPfm", 4, endless}, {"_Z5plainPf", 1, plain}, {"_Z4slowPfm", 4, slow},
    {"_Z6absentPf", 1, 0}};
static float variable[64];

static void **binary;
static void unregister(void) { __cudaUnregisterFatBinary(binary); }

static int launch(int, float *, uint64_t, unsigned, void *);
static float *late_memory;
/* Handlers run in reverse order: main's before our library ends the run, the others after the module unregisters. */
static void late(void) {
  if (!late_memory) return;
  const int launched = launch(0, late_memory, 2, 32, 0) | launch(3, late_memory, 0, 32, 0);
  printf("%d ", launched);
  printf("%d\n", cudaFree(late_memory) | cudaMalloc((void **)&late_memory, 1024));
}
__attribute__((constructor(101))) static void first(void) { atexit(late); }
__attribute__((destructor)) static void last(void) { late(); }

__attribute__((constructor)) static void announce(void) {
  static const struct { unsigned magic, version; const char *data; void *unused; } wrapper = {0x466243b1, 1, "superstep-module 0abc\n"};
  void **handle = __cudaRegisterFatBinary((void *)&wrapper);
  if (getenv("FAKE_SHOW_BINARY")) printf("%s\n", (const char *)handle);
  binary = handle;
  atexit(unregister);
  for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; ++i)
    __cudaRegisterFunction(handle, (const char *)&kernels[i], 0, kernels[i].name, -1, 0, 0, 0, 0, 0);
  __cudaRegisterVar(handle, (char *)variable, 0, "variable", 0, sizeof variable, 0, 0);
}

static int launch(int kernel, float *memory, uint64_t rounds, unsigned threads, void *stream) {
  void *arguments[] = {&memory, &rounds};
  return cudaLaunchKernel(&kernels[kernel], (dim3){8, 1, 1}, (dim3){threads, 1, 1}, arguments, 0, stream);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "ok";
  float *memory, host[256] = {1};
  size_t attributes[64];
  void *stream;
  cudaMalloc((void **)&memory, 1024);
  cudaMemcpy(memory, host, 1024, 1);
  cudaMemcpy2D(memory, 64, host, 64, 32, 4, 1);
  cudaMemcpyToSymbol(variable, host, 16, 8, 1);
  cudaMemset(memory, 3, 512);
  cudaStreamCreate(&stream);
  int result = 0;
  if (!strcmp(mode, "graph")) {
    if (cudaStreamBeginCapture(stream, 0)) return 2;
    return launch(strcmp(PROBE, "none") ? 0 : 3, memory, 1, 32, stream) ? 0 : 1;
  }
  if (!strcmp(mode, "absent-launch")) return printf("%d\n", launch(5, memory, 0, 32, stream)) < 0;
  if (!strcmp(mode, "absent-query")) return printf("%d\n", cudaFuncGetAttributes(attributes, &kernels[5])) < 0;
  if (!strcmp(mode, "slow")) return launch(4, memory, 1, 32, stream) | cudaDeviceSynchronize();
  if (!strcmp(mode, "device")) return cudaSetDevice(1), launch(0, memory, 1, 32, 0) | cudaDeviceSynchronize();
  if (!strcmp(mode, "processes")) {
    struct ipc handle = {0};
    float *other = 0, *again = 0, *first = 0;
    result |= cudaIpcGetMemHandle(&handle, memory) | cudaIpcOpenMemHandle((void **)&other, handle, 1);
    result |= cudaIpcOpenMemHandle((void **)&again, handle, 1) | (again != other) | launch(0, other, 2, 32, 0);
    handle.offset = 0;
    result |= cudaIpcOpenMemHandle((void **)&first, handle, 1) | launch(0, first, 3, 32, 0) | cudaDeviceSynchronize();
    result |= cudaIpcCloseMemHandle(other) | launch(0, again, 4, 32, 0) | cudaDeviceSynchronize();
    result |= cudaIpcCloseMemHandle(again) | cudaIpcCloseMemHandle(first);
    unsigned long long imported, room = 1ull << 40;
    result |= cuMemImportFromShareableHandle(&imported, (void *)3, 1) | cuMemMap(room, 4096, 0, imported, 0) | cuMemMap(room + 4096, 4096, 0, 8, 0);
    result |= cuMemUnmap(room, 8192) | cuMemRelease(imported) | cuMemMap(room, 4096, 0, imported, 0);
    return result;
  }
  if (!strcmp(mode, "closed")) {
    int (*multiply)(float *, const float *, size_t, void *) = dlsym(dlopen("libclosed.so", RTLD_NOW | RTLD_LOCAL), "closed_multiply");
    const int kernel = strcmp(PROBE, "none") ? 0 : 3;
    result |= launch(kernel, memory, 1, 32, stream);
    result |= multiply(memory, host, 64, stream);
    return result | launch(kernel, memory, 1, 32, stream) | cudaDeviceSynchronize();
  }
  if (!strcmp(mode, "known")) {
    void *library = dlopen("libclosed.so", RTLD_NOW | RTLD_GLOBAL);
    typedef int gemm(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);
    gemm cublasSgemm_v2, *found = dlsym(library, "cublasSgemm_v2");
    int (*multiply)(float *, const float *, size_t, void *) = dlsym(library, "closed_multiply");
    const float alpha = 2, beta = 3;
    result |= cublasSgemm_v2(stream, 0, 1, 5, 6, 2, &alpha, memory, 5, memory + 32, 6, &beta, memory + 64, 10);
    result |= found(stream, 0, 1, 5, 6, 2, &alpha, memory, 5, memory + 32, 6, &beta, memory + 64, 10);
    return result | multiply(memory, host, 64, stream) | cudaDeviceSynchronize();
  }
  for (int i = 0; i < 10; ++i) {
    result |= launch(0, memory, 50 * i, 32, i % 2 ? stream : 0);
    result |= launch(3, memory, 0, 32, 0);
  }
  if (!strcmp(mode, "late")) return late_memory = memory, atexit(late), result;
  if (!strcmp(mode, "refused")) printf("%d\n", launch(0, memory, 1, 2000, 0));
  if (!strncmp(mode, "cooperative-", 12)) {
    uint64_t rounds = 1;
    void *arguments[] = {&memory, &rounds};
    const unsigned ctas = (unsigned)atoi(mode + 12);
    printf("%d\n", cudaLaunchCooperativeKernel(&kernels[0], (dim3){ctas, 1, 1}, (dim3){32, 1, 1}, arguments, 0, 0));
  }
  if (!strcmp(mode, "reset")) {
    cudaDeviceReset();
    cudaMalloc((void **)&memory, 1024);
    result |= launch(0, memory, 7, 32, 0);
  }
  if (!strcmp(mode, "streams")) {
    for (int i = 0; i < 20; ++i) {
      cudaStreamDestroy(stream);
      cudaStreamCreate(&stream);
      result |= launch(0, memory, 3, 32, stream);
    }
  }
  if (!strcmp(mode, "fault")) {
    /* A GPU stops all kernels after an error, but the stand-in's other streams would keep running. */
    cudaDeviceSynchronize();
    launch(1, memory, 20, 32, stream);
    launch(0, memory, 20, 32, stream);
    printf("%d\n", cudaDeviceSynchronize());
    printf("%d\n", launch(0, memory, 20, 32, 0));
    return 5;
  }
  if (!strcmp(mode, "fork")) {
    int status;
    const int child = fork();
    if (!child) exit(launch(0, memory, 1, 32, stream) == 3 ? cudaFree(memory) : 1);
    result |= waitpid(child, &status, 0) != child || status;
  }
  if (!strcmp(mode, "exit")) exit(6);
  /* Exits without running exit handlers, while kernels are running. */
  if (!strcmp(mode, "_exit")) _exit(6);
  if (!strcmp(mode, "quick_exit")) quick_exit(6);
  if (!strcmp(mode, "exec")) execl("/bin/sh", "sh", "-c", "exit 6", (char *)0);
  if (!strcmp(mode, "no-exec")) {
    char *arguments[] = {"none", 0};
    if (execl("/nonexistent", "a", "b", "c", "d", "e", "f", (char *)0) != -1 || execvp("nonexistent", arguments) != -1) return 1;
    result |= launch(0, memory, 3, 32, stream);
  }
  if (!strcmp(mode, "others")) {
    int status, child = vfork();
    if (!child) execl("/bin/true", "true", (char *)0), _exit(1);
    result |= waitpid(child, &status, 0) != child || status;
    if (!(child = fork())) _exit(0);
    result |= waitpid(child, &status, 0) != child || status;
  }
  if (!strcmp(mode, "kill")) {
    cudaDeviceSynchronize();
    abort();
  }
  if (!strcmp(mode, "endless")) launch(2, memory, 20, 32, stream);
  if (!strcmp(mode, "endless-_exit")) launch(2, memory, 20, 32, stream), _exit(6);
  if (strcmp(mode, "endless")) result |= cudaDeviceSynchronize();
  cudaFree(memory);
  return result;
}
