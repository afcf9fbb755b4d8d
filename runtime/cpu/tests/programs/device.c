/* Kernels as the instrumenter would emit them: accesses to global memory are reported to the probe handler, special
 * registers and barriers are calls, and a constructor registers a table of kernels with the runtime. PROBE is "trace"
 * or "count". */
#include "thread.h"

#include <stddef.h>

struct CpuKernel {
  const char *name;
  void (*thunk)(void **args);
  uint32_t parameters, flags;
  uint64_t static_shared_bytes;
  uint32_t (*step)(void **args, void *frame, uint32_t region, uint32_t first, uint32_t last);
  uint64_t frame_bytes;
  const uint32_t *parameters_at;
  const void *function;
  uint64_t most_threads;
};
struct CpuGlobal {
  const char *name;
  void *address;
  uint64_t bytes;
  uint32_t space, pad;
};
struct CpuModule {
  uint32_t abi_version, module_index;
  const char *name;
  struct SuperstepThread *(*thread_block)(void);
  uint32_t kernel_count, global_count;
  const struct CpuKernel *kernels;
  const struct CpuGlobal *globals;
  const char *table_json;
  uint64_t table_json_bytes;
};
void __superstep_register_cpu_module(const struct CpuModule *);
void __superstep_probe_access(void *context, uint64_t launch, uint32_t site, void *address, uint32_t width_bytes);
struct SuperstepThread *__superstep_thread_block(void);
int __superstep_vprintf(const char *format, void *arguments);
_Noreturn void __superstep_assertfail(const char *message, const char *file, unsigned line, const char *function, size_t bytes);
void *__superstep_device_malloc(size_t bytes);
void __superstep_device_free(void *pointer);
void __superstep_nvvm_barrier_cta_sync_aligned_all(uint32_t id);
bool __superstep_nvvm_barrier_cta_red_and_aligned_all(uint32_t id, bool predicate);
uint32_t __superstep_nvvm_barrier_cta_red_popc_aligned_all(uint32_t id, bool predicate);
int32_t __superstep_nvvm_shfl_sync_down_i32(uint32_t mask, int32_t value, uint32_t b, uint32_t c);
int32_t __superstep_nvvm_shfl_sync_idx_i32(uint32_t mask, int32_t value, uint32_t b, uint32_t c);
uint32_t __superstep_nvvm_vote_ballot_sync(uint32_t mask, bool predicate);
uint32_t __superstep_nvvm_match_any_sync_i32(uint32_t mask, uint32_t value);
uint32_t __superstep_nvvm_redux_sync_add(uint32_t value, uint32_t mask);
uint32_t __superstep_nvvm_activemask(void);
void __superstep_nvvm_exit(void);

#define MODULE 3u
#define SITE(n) (MODULE << 16 | (n))
#define PROBE_AT(n, place) __superstep_probe_access(NULL, 0, SITE(n), (void *)(place), sizeof *(place))
#define LOAD(n, place) (PROBE_AT(n, place), *(place))
#define STORE(n, place, value) (PROBE_AT(n, place), *(place) = (value))
#define T __superstep_thread
#define SYNC() __superstep_nvvm_barrier_cta_sync_aligned_all(0)

int device_counter;
float constant_factor = 2.0f;
static _Thread_local int shared_values[1024];

/* c[i] = a[i] + b[i]; sites 0, 1, 2 */
static void add(const int *a, const int *b, int *c, int n) {
  int i = (int)(T.ctaid[0] * T.ntid[0] + T.tid[0]);
  if (i < n) {
    int sum = LOAD(0, a + i) + LOAD(1, b + i);
    STORE(2, c + i, sum);
  }
}
static void add_thunk(void **args) { add(*(int **)args[0], *(int **)args[1], *(int **)args[2], *(int *)args[3]); }

/* out[linear thread] = packed thread and CTA coordinates; site 3 */
static void shape(uint32_t *out) {
  uint32_t cta = T.ctaid[0] + T.nctaid[0] * (T.ctaid[1] + T.nctaid[1] * T.ctaid[2]);
  uint32_t thread = T.tid[0] + T.ntid[0] * (T.tid[1] + T.ntid[1] * T.tid[2]);
  uint32_t i = cta * T.ntid[0] * T.ntid[1] * T.ntid[2] + thread;
  STORE(3, out + i, T.tid[0] | T.tid[1] << 4 | T.tid[2] << 8 | T.ctaid[0] << 12 | T.ctaid[1] << 16 | T.ctaid[2] << 20 | T.lane << 24);
}
static void shape_thunk(void **args) { shape(*(uint32_t **)args[0]); }

/* Reverses each CTA's part through static shared memory, then adds the left neighbour's value through dynamic shared
 * memory; sites 4, 5. Threads numbered n and above exit before the barriers. */
static void reverse(const int *in, int *out, int n) {
  int *dynamic = (int *)T.dynamic_shared;
  int t = (int)T.tid[0], i = (int)(T.ctaid[0] * T.ntid[0]) + t, last = (int)T.ntid[0] - 1;
  if (t >= n)
    return;
  if (last >= n)
    last = n - 1;
  shared_values[t] = LOAD(4, in + i);
  SYNC();
  int mine = shared_values[last - t];
  dynamic[t] = mine;
  SYNC();
  STORE(5, out + i, mine + (t > 0 ? dynamic[t - 1] : 0));
}
static void reverse_thunk(void **args) { reverse(*(int **)args[0], *(int **)args[1], *(int *)args[2]); }

/* Warp operations; results are stored at site 6. */
static void warp(int *out) {
  int t = (int)T.tid[0], lane = (int)T.lane, *mine = out + t * 8;
  int sum = lane;
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __superstep_nvvm_shfl_sync_down_i32(~0u, sum, (uint32_t)offset, 31);
  STORE(6, mine + 0, __superstep_nvvm_shfl_sync_idx_i32(~0u, sum, 0, 31));
  STORE(6, mine + 1, (int)__superstep_nvvm_vote_ballot_sync(~0u, lane % 3 == 0));
  STORE(6, mine + 2, (int)__superstep_nvvm_match_any_sync_i32(~0u, (uint32_t)lane % 4));
  STORE(6, mine + 3, (int)__superstep_nvvm_redux_sync_add((uint32_t)lane, ~0u));
  int branch = lane < 8 ? (int)__superstep_nvvm_activemask() : 0;
  STORE(6, mine + 4, branch);
  STORE(6, mine + 5, (int)__superstep_nvvm_barrier_cta_red_popc_aligned_all(0, t % 2 == 0));
  STORE(6, mine + 6, (int)__superstep_nvvm_barrier_cta_red_and_aligned_all(1, t < 1000));
  /* each half of the warp exchanges values separately */
  uint32_t half = lane < 16 ? 0xffffu : 0xffff0000u;
  STORE(6, mine + 7, (int)__superstep_nvvm_redux_sync_add(1, half));
}
static void warp_thunk(void **args) { warp(*(int **)args[0]); }

/* Atomics: a histogram in global memory and a counter in a device variable; sites 7, 8. */
static void atomics(int *bins, int count) {
  int i = (int)(T.ctaid[0] * T.ntid[0] + T.tid[0]);
  PROBE_AT(7, bins + i % count);
  __atomic_fetch_add(bins + i % count, 1, __ATOMIC_RELAXED);
  PROBE_AT(8, &device_counter);
  __atomic_fetch_add(&device_counter, (int)constant_factor, __ATOMIC_RELAXED);
}
static void atomics_thunk(void **args) { atomics(*(int **)args[0], *(int *)args[1]); }

/* Different ways to fail; site 9. */
static int overflow(int depth, volatile int *sink) {
  volatile int filler[256];
  if (*sink == -12345)
    return 0;
  filler[depth % 256] = depth;
  *sink += filler[depth % 256];
  return overflow(depth + 1, sink) + filler[(depth + 1) % 256];
}
static void fail(int *data, int how, int n) {
  int i = (int)(T.ctaid[0] * T.ntid[0] + T.tid[0]);
  STORE(9, data + i, i);
  if (i != 40)
    return;
  volatile int zero = 0;
  switch (how) {
  case 0: /* out of bounds */
    STORE(9, data + n + (1 << 19), 1);
    break;
  case 7: /* past the end of an allocation, where a GPU maps memory */
    STORE(9, data + n, 1);
    break;
  case 1: { /* null pointer */
    int *volatile null = NULL;
    STORE(9, null, LOAD(9, null));
    break;
  }
  case 2:
    __superstep_assertfail("i != 40", "device.c", 40, "fail(int *)", 1);
  case 3:
    __superstep_trap();
  case 4:
    data[0] = n / zero;
    break;
  case 5:
    data[0] = overflow(0, &zero);
    break;
  case 6: /* a non-canonical address */
    *(int *volatile)0x4141414141414141 = 1;
    break;
  }
}
static void fail_thunk(void **args) { fail(*(int **)args[0], *(int *)args[1], *(int *)args[2]); }
/* The same failures, with fibers. */
static void fail_fibers_thunk(void **args) {
  SYNC();
  fail(*(int **)args[0], *(int *)args[1], *(int *)args[2]);
  SYNC();
}

/* The two halves of the threads wait forever at different barriers. */
static void deadlock(void) { __superstep_barrier(T.tid[0] < 32 ? 0 : 1, T.ntid[0]); }
static void deadlock_thunk(void **args) {
  (void)args;
  deadlock();
}

/* A warp loads a matrix from an unmapped address (`ldmatrix.x1`). */
void __superstep_matrix(uint64_t operation, uint32_t *registers, uint64_t address, uint64_t stride);
static void load_rows(void) {
  uint32_t registers[48];
  __superstep_matrix(0x0103, registers, 0, 0);
}
static void load_rows_thunk(void **args) {
  (void)args;
  load_rows();
}

static void print(int value) {
  struct {
    int thread;
    double half;
    const char *text;
    long long big;
  } arguments = {(int)T.tid[0], value / 2.0, "text", 1ll << 40};
  __superstep_vprintf("thread %d: %5.2f %s %lld%%\n", &arguments);
}
static void print_thunk(void **args) { print(*(int *)args[0]); }

/* Device-side malloc, and threads that exit early; site 10. */
static void allocate(int *out) {
  int *mine = __superstep_device_malloc(sizeof(int));
  STORE(10, mine, (int)T.tid[0] + 1);
  int local = 0;
  bool is_right = __superstep_is_global(mine) && __superstep_is_global(out) && !__superstep_is_global(&local) &&
                  __superstep_is_local(&local) && __superstep_is_shared(shared_values) && __superstep_is_shared(T.dynamic_shared) &&
                  !__superstep_is_shared(out) && !__superstep_is_global(shared_values);
  STORE(10, out + T.tid[0], is_right ? *mine : -1);
  __superstep_device_free(mine);
  if (T.tid[0] % 2)
    __superstep_nvvm_exit();
  STORE(10, out + T.tid[0], -(int)T.tid[0]);
}
static void allocate_thunk(void **args) { allocate(*(int **)args[0]); }

/* Each thread accesses memory many times; site 11. */
static void many(int *data, int times) {
  for (int i = 0; i < times; i++)
    STORE(11, data + i % 64, i);
}
static void many_thunk(void **args) { many(*(int **)args[0], *(int *)args[1]); }
static void many_fibers_thunk(void **args) {
  many(*(int **)args[0], *(int *)args[1]);
  SYNC();
}

/* Five-point stencil; sites 12 to 17. */
static void stencil(const float *in, float *out, int width, int height) {
  int x = (int)(T.ctaid[0] * T.ntid[0] + T.tid[0]), y = (int)(T.ctaid[1] * T.ntid[1] + T.tid[1]);
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
    return;
  const float *p = in + y * width + x;
  float sum = LOAD(12, p) + LOAD(13, p - 1) + LOAD(14, p + 1) + LOAD(15, p - width) + LOAD(16, p + width);
  STORE(17, out + y * width + x, sum * 0.2f);
}
static void stencil_thunk(void **args) { stencil(*(float **)args[0], *(float **)args[1], *(int *)args[2], *(int *)args[3]); }

/* Each CTA waits for the next one, which starts later; site 10. */
static void wait_for_next(volatile int *flags) {
  unsigned cta = T.ctaid[0];
  while (cta + 1 < T.nctaid[0] && !__atomic_load_n(&flags[cta + 1], __ATOMIC_ACQUIRE))
    ;
  STORE(10, flags + cta, (int)cta + 1);
}
static void wait_for_next_thunk(void **args) { wait_for_next(*(int **)args[0]); }

static const struct CpuKernel kernels[] = {
    {"add", add_thunk, 4, 0, 0, NULL, 0},
    {"shape", shape_thunk, 1, 0, 0, NULL, 0},
    {"reverse", reverse_thunk, 3, 1, sizeof shared_values, NULL, 0},
    {"warp", warp_thunk, 1, 1, 0, NULL, 0},
    {"atomics", atomics_thunk, 2, 0, 0, NULL, 0},
    {"fail", fail_thunk, 3, 0, 0, NULL, 0},
    {"fail_fibers", fail_fibers_thunk, 3, 1, 0, NULL, 0},
    {"deadlock", deadlock_thunk, 0, 1, 0, NULL, 0},
    {"load_rows", load_rows_thunk, 0, 1, 0, NULL, 0},
    {"print", print_thunk, 1, 0, 0, NULL, 0},
    {"allocate", allocate_thunk, 1, 0, 0, NULL, 0},
    {"many", many_thunk, 2, 0, 0, NULL, 0},
    {"many_fibers", many_fibers_thunk, 2, 1, 0, NULL, 0},
    {"stencil", stencil_thunk, 4, 0, 0, NULL, 0},
    {"wait_for_next", wait_for_next_thunk, 1, 0, 0, NULL, 0},
};
static const struct CpuGlobal globals[] = {
    {"device_counter", &device_counter, sizeof device_counter, 1, 0},
    {"constant_factor", &constant_factor, sizeof constant_factor, 4, 0},
};

#define SITE_JSON(id, op) "{\"id\":" #id ",\"function\":\"f\",\"file\":\"device.cu\",\"line\":" #id ",\"column\":1,\"op\":\"" op \
                          "\",\"width_bytes\":4,\"proof\":\"proven\"}"
static const char table[] =
    "{\"schema_version\":1,\"module\":3,\"name\":\"device.cu\",\"backend\":\"cpu\",\"probe\":\"" PROBE "\",\"sites\":["
    SITE_JSON(196608, "load") "," SITE_JSON(196609, "load") "," SITE_JSON(196610, "store") "," SITE_JSON(196611, "store") ","
    SITE_JSON(196612, "load") "," SITE_JSON(196613, "store") "," SITE_JSON(196614, "store") "," SITE_JSON(196615, "atomic_add") ","
    SITE_JSON(196616, "atomic_add") "," SITE_JSON(196617, "store") "," SITE_JSON(196618, "store") "," SITE_JSON(196619, "store") ","
    SITE_JSON(196620, "load") "," SITE_JSON(196621, "load") "," SITE_JSON(196622, "load") "," SITE_JSON(196623, "load") ","
    SITE_JSON(196624, "load") "," SITE_JSON(196625, "store")
    "],\"kernels\":[{\"name\":\"add\",\"display_name\":\"add_display\",\"parameters\":4}]}";

static const struct CpuModule module = {
    6, MODULE, "device.cu", __superstep_thread_block, sizeof kernels / sizeof *kernels, sizeof globals / sizeof *globals,
    kernels, globals, table, sizeof table - 1,
};
__attribute__((constructor)) static void register_module(void) { __superstep_register_cpu_module(&module); }
