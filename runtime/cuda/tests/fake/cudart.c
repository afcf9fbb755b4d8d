/* Just enough of libcudart for tests without a GPU: streams are threads, kernels are host functions, and a device error
 * is sticky and stops everything, host functions included, as on a GPU. */
#include "kernel.h"
#include <dlfcn.h>
#include <pthread.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int error_t_;
typedef struct { unsigned x, y, z; } dim3;
enum { NO_DEVICE_CODE = 98, NO_DEVICE = 100, INVALID_HANDLE = 400, NOT_READY = 600 };

enum kind { KERNEL, HOST, EVENT, WAIT, COPY, FILL };
struct operation {
  enum kind kind;
  struct operation *next;
  struct fake_kernel *kernel;
  uint64_t arguments[16];
  void (*function)(void *);
  void *to;
  const void *from;
  size_t bytes;
  int value;
};
struct stream {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct operation *first, **last;
  int busy, device;
  struct stream *next;
};
/* Number of recordings of an event, and the latest that was reached so far; streams reach recordings in any order. */
struct event {
  int recorded, happened;
  struct timespec when;
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream *all;
static volatile int sticky;
static __thread int current_device;

static void run(struct operation *operation) {
  if (sticky) return;
  switch (operation->kind) {
  case KERNEL: {
    const int error = operation->kernel->body(operation->arguments);
    if (error) sticky = error;
    break;
  }
  case HOST: operation->function(operation->to); break;
  case EVENT: {
    struct event *event = operation->to;
    pthread_mutex_lock(&all_lock);
    if (event->happened < operation->value) {
      clock_gettime(CLOCK_MONOTONIC, &event->when);
      __atomic_store_n(&event->happened, operation->value, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&all_lock);
    break;
  }
  case WAIT: {
    const struct event *event = operation->from;
    while (!sticky && __atomic_load_n(&event->happened, __ATOMIC_ACQUIRE) < operation->value) nanosleep(&(struct timespec){0, 20000}, 0);
    break;
  }
  case COPY: memcpy(operation->to, operation->from, operation->bytes); break;
  case FILL:
    if (getenv("FAKE_SLOW_FILLS")) nanosleep(&(struct timespec){0, 10000000}, 0);
    memset(operation->to, operation->value, operation->bytes);
    break;
  }
}

static void *work(void *data) {
  struct stream *stream = data;
  pthread_mutex_lock(&stream->lock);
  for (;;) {
    while (!stream->first) pthread_cond_wait(&stream->changed, &stream->lock);
    struct operation *operation = stream->first;
    stream->first = operation->next;
    if (!stream->first) stream->last = &stream->first;
    stream->busy = 1;
    pthread_mutex_unlock(&stream->lock);
    run(operation);
    free(operation);
    pthread_mutex_lock(&stream->lock);
    stream->busy = 0;
    pthread_cond_broadcast(&stream->changed);
  }
}

static struct stream *make(void) {
  struct stream *stream = calloc(1, sizeof *stream);
  pthread_mutex_init(&stream->lock, 0);
  pthread_cond_init(&stream->changed, 0);
  stream->last = &stream->first;
  stream->device = current_device;
  pthread_mutex_lock(&all_lock);
  stream->next = all;
  all = stream;
  pthread_mutex_unlock(&all_lock);
  pthread_t thread;
  pthread_create(&thread, 0, work, stream);
  pthread_detach(thread);
  return stream;
}

static struct stream *default_stream;
static void make_default(void) { default_stream = make(); }

static struct stream *get(void *stream) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_default);
  return (uintptr_t)stream <= 2 ? default_stream : stream;
}

/* The captured stream, the graph into which it is captured, and the graph's last node. */
static void *into, *captured, *last;
int cudaDeviceSynchronize(void);
static int is_captured(void *stream) { return captured && stream == into; }
int cudaGraphCreate(void **, unsigned), cudaGraphAddMemsetNode(void **, void *, void **, size_t, const void *);
int cudaGraphAddMemcpyNode1D(void **, void *, void **, size_t, void *, const void *, size_t, int);
int cudaGraphAddKernelNode(void **, void *, void **, size_t, const void *), cudaGraphAddHostNode(void **, void *, void **, size_t, const void *);
struct fill_node { void *to; size_t pitch; unsigned value, element; size_t width, height; };
struct kernel_node { const void *function; dim3 grid, block; unsigned shared; void **arguments, **extra; };

static int add(void *handle, struct operation operation) {
  if (sticky) return sticky;
  struct stream *stream = get(handle);
  struct operation *copy = malloc(sizeof *copy);
  *copy = operation;
  copy->next = 0;
  pthread_mutex_lock(&stream->lock);
  *stream->last = copy;
  stream->last = &copy->next;
  pthread_cond_broadcast(&stream->changed);
  pthread_mutex_unlock(&stream->lock);
  return 0;
}

static void drain(struct stream *stream) {
  pthread_mutex_lock(&stream->lock);
  while (stream->first || stream->busy) pthread_cond_wait(&stream->changed, &stream->lock);
  pthread_mutex_unlock(&stream->lock);
}

/* The handle is the image. */
void **__cudaRegisterFatBinary(void **wrapper) { return wrapper[1]; }
static int unregistered;
void __cudaUnregisterFatBinary(void **binary) { unregistered = 1; }
void __cudaRegisterFunction(void **b, const char *h, char *d, const char *n, int l, void *t, void *bi, void *bs, void *g, int *w) {}
void __cudaRegisterVar(void **b, char *h, char *d, const char *n, int e, size_t s, int c, int g) {}

/* Sizes in bytes: limits on an allocation and on all device memory, and the memory in use. */
static size_t limit(const char *variable) { return getenv(variable) ? strtoull(getenv(variable), 0, 10) : SIZE_MAX; }
static size_t used;
/* The allocations on all devices except the first. */
static struct { char *first; size_t bytes; int device; } owned[256];
static void set_owner(void *pointer, size_t bytes, int device) {
  pthread_mutex_lock(&all_lock);
  int i = 0;
  while (i < 256 && owned[i].first != (bytes ? 0 : pointer)) ++i;
  if (i < 256) owned[i].first = bytes ? pointer : 0, owned[i].bytes = bytes, owned[i].device = device;
  pthread_mutex_unlock(&all_lock);
}
static int owner(const char *pointer) {
  int device = 0;
  pthread_mutex_lock(&all_lock);
  for (int i = 0; i < 256; ++i)
    if (owned[i].first && (size_t)(pointer - owned[i].first) < owned[i].bytes) device = owned[i].device;
  pthread_mutex_unlock(&all_lock);
  return device;
}
/* As on a GPU, small allocations on a device share a 2 MiB page. Each slot is used only once. */
enum { SMALL = 4096, MAX_SMALL = 256 };
static char small[MAX_SMALL][SMALL] __attribute__((aligned(2 << 20)));
static int is_small(const void *pointer) { return (size_t)((const char *)pointer - small[0]) < sizeof small; }
static size_t size_of(void *pointer) { return is_small(pointer) ? SMALL : malloc_usable_size(pointer); }
static void *take(size_t bytes) {
  static int taken;
  const int is_one = bytes <= SMALL && !current_device;
  const int number = is_one ? __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED) : MAX_SMALL;
  return number < MAX_SMALL ? small[number] : calloc(1, bytes);
}
/* As in CUDA, the first call registers an exit handler; once it has run, all calls fail. */
static void unload(void) { cudaDeviceSynchronize(), sticky = 4; }
static void unload_at_exit(void) {
  if (getenv("FAKE_UNLOADS")) atexit(unload);
}
int cudaMalloc(void **pointer, size_t bytes) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, unload_at_exit);
  if (bytes > limit("FAKE_MAX_BYTES") || used + bytes > limit("FAKE_ALL_BYTES")) return 2;
  if (sticky) return sticky;
  if (!(*pointer = take(bytes))) return 2;
  if (current_device) set_owner(*pointer, bytes, current_device);
  return used += size_of(*pointer), 0;
}
int cudaFree(void *pointer) {
  set_owner(pointer, 0, 0), used -= size_of(pointer);
  if (!is_small(pointer)) free(pointer);
  return sticky;
}
int cudaMemGetInfo(size_t *unused, size_t *all) {
  *all = getenv("FAKE_ALL_BYTES") ? limit("FAKE_ALL_BYTES") : 8ull << 30;
  return *unused = *all - used, sticky == 4 ? sticky : 0;
}
struct ipc { size_t offset; char rest[56]; };
int cudaIpcGetMemHandle(struct ipc *handle, void *pointer) { return handle->offset = 1024, 0; }
int cudaIpcOpenMemHandle(void **pointer, struct ipc handle, unsigned flags) {
  char *other = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "other_process");
  return flags != 1 || !other ? 1 : (*pointer = other + handle.offset, 0);
}
int cudaIpcCloseMemHandle(void *pointer) { return 0; }
int cudaHostAlloc(void **pointer, size_t bytes, unsigned flags) { return posix_memalign(pointer, 4096, bytes) ? 2 : sticky; }
int cudaHostGetDevicePointer(void **device, void *host, unsigned flags) { return *device = host, sticky; }
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  if (is_captured(stream)) return cudaGraphAddMemcpyNode1D(&last, captured, &last, last != 0, to, from, bytes, kind);
  return add(stream, (struct operation){.kind = COPY, .to = to, .from = from, .bytes = bytes});
}
int cudaMemsetAsync(void *to, int value, size_t bytes, void *stream) {
  const struct fill_node fill = {to, 0, (unsigned)value, 1, bytes, 1};
  if (owner(to) != ((uintptr_t)stream <= 2 ? current_device : get(stream)->device)) return 1;
  if (is_captured(stream)) return cudaGraphAddMemsetNode(&last, captured, &last, last != 0, &fill);
  return add(stream, (struct operation){.kind = FILL, .to = to, .value = value, .bytes = bytes});
}
int cudaMemset(void *to, int value, size_t bytes) { return cudaMemsetAsync(to, value, bytes, 0); }
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind) {
  drain(get(0));
  if (!sticky) memcpy(to, from, bytes);
  return sticky;
}
int cudaMemcpy2D(void *to, size_t tp, const void *from, size_t fp, size_t width, size_t height, int kind) {
  for (size_t row = 0; row < height; ++row) cudaMemcpy((char *)to + row * tp, (const char *)from + row * fp, width, kind);
  return sticky;
}
int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind) {
  return cudaMemcpy((char *)symbol + offset, from, bytes, kind);
}
int cudaGetSymbolAddress(void **pointer, const void *symbol) { return *pointer = (void *)symbol, sticky; }
int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream) {
  if (getenv("FAKE_NO_DEVICE")) return NO_DEVICE;
  if (block.x > 1024) return 9;
  if (unregistered) return INVALID_HANDLE;
  if (!((const struct fake_kernel *)function)->body) return NO_DEVICE_CODE;
  /* The real function calls the driver's function and must not find ours. */
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver) {
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **) = dlsym(driver, "cuLaunchKernel");
    launch(0, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0);
  }
  const struct kernel_node node = {function, grid, block, (unsigned)shared, arguments, 0};
  if (is_captured(stream)) return cudaGraphAddKernelNode(&last, captured, &last, last != 0, &node);
  struct operation operation = {.kind = KERNEL, .kernel = (struct fake_kernel *)function};
  for (int i = 0; i < operation.kernel->arguments; ++i) memcpy(&operation.arguments[i], arguments[i], 8);
  return add(stream, operation);
}
int cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream) {
  return grid.x > 16 ? 720 : cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}
int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  if (is_captured(stream)) return cudaGraphAddHostNode(&last, captured, &last, last != 0, (void *[]){function, data});
  return add(stream, (struct operation){.kind = HOST, .function = function, .to = data});
}
int cudaEventCreateWithFlags(void **event, unsigned flags) { return *event = calloc(1, sizeof(struct event)), sticky; }
int cudaEventRecord(void *event, void *stream) {
  const int number = __atomic_add_fetch(&((struct event *)event)->recorded, 1, __ATOMIC_ACQ_REL);
  return add(stream, (struct operation){.kind = EVENT, .to = event, .value = number});
}
int cudaStreamWaitEvent(void *stream, const void *event, unsigned flags) {
  const int number = __atomic_load_n(&((const struct event *)event)->recorded, __ATOMIC_ACQUIRE);
  return add(stream, (struct operation){.kind = WAIT, .from = event, .value = number});
}
int cudaEventQuery(const void *handle) {
  const struct event *event = handle;
  const int recorded = __atomic_load_n(&event->recorded, __ATOMIC_ACQUIRE);
  return sticky ? sticky : __atomic_load_n(&event->happened, __ATOMIC_ACQUIRE) == recorded ? 0 : NOT_READY;
}
int cudaEventSynchronize(void *event) {
  int state;
  while ((state = cudaEventQuery(event)) == NOT_READY) nanosleep(&(struct timespec){0, 20000}, 0);
  return state;
}
int cudaEventElapsedTime(float *milliseconds, void *start, void *end) {
  const struct timespec a = ((struct event *)start)->when, b = ((struct event *)end)->when;
  *milliseconds = (float)((double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6);
  return sticky;
}
int cudaGetDevice(int *device) { return *device = current_device, getenv("FAKE_NO_DEVICE") ? NO_DEVICE : 0; }
int cudaSetDevice(int device) { return current_device = device, 0; }
int cudaDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 16 ? 4 : attribute == 75 ? 9 : attribute == 39 ? 2048 : attribute == 106 ? 32 : 0;
  return 0;
}
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ctas, const void *function, int threads, size_t shared) { return *ctas = 4, 0; }
int cudaGetDeviceProperties_v2(void *properties, int device) { return strcpy(properties, "Fake GPU"), 0; }
int cudaDriverGetVersion(int *version) { return *version = 13000, 0; }
int cudaFuncGetAttributes(size_t *attributes, const void *function) {
  int *numbers = (int *)attributes;
  numbers[6] = 1024, numbers[11] = 48 << 10; // maxThreadsPerBlock, maxDynamicSharedSizeBytes
  return *attributes = 48, ((const struct fake_kernel *)function)->body ? sticky : NO_DEVICE_CODE;
}
int cudaGetLastError(void) { return sticky; }
const char *cudaGetErrorName(int error) {
  return error == 0 ? "cudaSuccess" : error == 9 ? "cudaErrorInvalidConfiguration" : error == 700 ? "cudaErrorIllegalAddress" : "cudaErrorOther";
}
const char *cudaGetErrorString(int error) { return "injected error"; }
int cudaStreamCreate(void **stream) { return *stream = make(), sticky; }
int cudaStreamCreateWithFlags(void **stream, unsigned flags) { return cudaStreamCreate(stream); }
int cudaStreamSynchronize(void *stream) { return drain(get(stream)), sticky; }
int cudaStreamDestroy(void *stream) { return sticky; }
int cudaStreamBeginCapture(void *stream, int mode) { return into = stream, last = 0, cudaGraphCreate(&captured, 0); }
int cudaStreamEndCapture(void *stream, void **graph) { return *graph = captured, captured = 0, 0; }
int cudaThreadExchangeStreamCaptureMode(int *mode) { return *mode = 0, 0; }
int cudaGetFuncBySymbol(void **function, const void *symbol) { return *function = (void *)symbol, 0; }
int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph, const void *const **nodes, size_t *count) {
  *status = is_captured(stream), *graph = captured;
  return *nodes = (const void *const *)&last, *count = last != 0, 0;
}
int cudaDeviceSynchronize(void) {
  for (struct stream *stream = all; stream; stream = stream->next) drain(stream);
  return sticky;
}
int cudaDeviceReset(void) { return cudaDeviceSynchronize(), sticky = 0; }
