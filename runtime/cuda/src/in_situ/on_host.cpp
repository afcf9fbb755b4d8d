// Runs the handler of the protocol `in-situ` on the host, one lane at a time: device_tests.rs feeds it accesses and reads what they add up
// to. Between the look at an entry and its exchange, another access may come.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUPERSTEP_ON_HOST
#define __CUDA__ 1
#define __device__
struct Extent { unsigned x, y, z; };
static Extent blockIdx, threadIdx, gridDim = {1u << 20, 1, 1}, blockDim = {1024, 1, 1};
struct ulonglong2 { unsigned long long x, y; };

template <class T> static T __ldg(const T *place) { return *place; }
template <class T> static T __shfl_sync(unsigned, T value, unsigned) { return value; }
template <class T> static unsigned __match_any_sync(unsigned mask, T) { return mask; }
static unsigned __activemask() { return 1; }
static bool __all_sync(unsigned, bool holds) { return holds; }
static unsigned __reduce_add_sync(unsigned, unsigned value) { return value; }
static void __syncwarp(unsigned) {}
static void __threadfence() {}
static int __popc(unsigned bits) { return __builtin_popcount(bits); }
static int __ffs(unsigned bits) { return __builtin_ffs((int)bits); }
static unsigned long long atomicAdd(unsigned long long *word, unsigned long long value) {
  unsigned long long was = *word;
  *word += value;
  return was;
}

#include "in_situ.h"

namespace {
typedef InSituEntry Host;
unsigned lane_number() { return 0; }
unsigned sm_number() { return 0; }
Host load(const void *place) { return *(const Host *)place; }
Host load_cached(const void *place) { return load(place); }
void meanwhile();
Host exchange(void *place, Host old, Host next) {
  meanwhile();
  Host was = load(place);
  if (was.before == old.before && was.now == old.now) *(Host *)place = next;
  return was;
}
void add(uint64_t *word, uint64_t value) { *word += value; }
} // namespace

#include "probe_trace_in-situ.cu"

namespace {

struct Access {
  unsigned cta, thread, operation, width;
  unsigned long long address;
};

const unsigned ROWS = 1 << 14, SPLITS = 1 << 12, LAUNCHES = 1 << 10, WORDS = 1 << (IN_SITU_BLOCK_SHIFT - 2);
InSituBlock block;
InSituContext context;
unsigned long long parameter;
Access waiting;
bool waits;

void run(Access access) {
  blockIdx.x = access.cta;
  threadIdx.x = access.thread;
  // As for sites that are known when the handler is compiled, which is the usual way.
  const unsigned site = access.operation << 28;
  switch (operation_of(site)) {
  case IN_SITU_LOAD: return choose<IN_SITU_LOAD>(&context, parameter, site, access.address, access.width);
  case IN_SITU_STORE: return choose<IN_SITU_STORE>(&context, parameter, site, access.address, access.width);
  default: return choose<IN_SITU_ATOMIC>(&context, parameter, site, access.address, access.width);
  }
}

void meanwhile() {
  if (!waits) return;
  waits = false;
  const Extent cta = blockIdx, thread = threadIdx;
  run(waiting);
  blockIdx = cta;
  threadIdx = thread;
}

template <class T> T *cleared(T *memory, size_t count) {
  if (memory == nullptr) return (T *)calloc(count, sizeof(T));
  memset((void *)memory, 0, count * sizeof(T));
  return memory;
}

} // namespace

// Each line of the input begins with a letter: `n` base: a new program; `f` address, bytes, pattern: a fill; `l` number, kernel: a launch;
// `a` CTA, thread, operation, width, address: an access; `w`, the same: it comes before the next exchange; `e`: the launch ends, its sums
// are printed; `p`: the program ends, the rows of its transfers are printed.
int main() {
  char what;
  Entry *shadow = nullptr;
  unsigned long long base = 0;
  while (scanf(" %c", &what) == 1) {
    if (what == 'n') {
      if (scanf("%llu", &base) != 1) return 2;
      if (shadow == nullptr) shadow = (Entry *)calloc(WORDS, sizeof(Entry));
      block = {(base >> IN_SITU_BLOCK_SHIFT) + 1, (uint64_t)shadow};
      context.version = IN_SITU_VERSION;
      context.blocks = &block;
      context.block_mask = 0;
      context.sums = cleared(context.sums, IN_SITU_COPIES * IN_SITU_SUMS);
      context.readers = cleared(context.readers, ROWS);
      context.reader_mask = ROWS - 1;
      context.transfers = cleared(context.transfers, ROWS);
      context.transfer_mask = ROWS - 1;
      context.kernels = cleared((uint32_t *)context.kernels, LAUNCHES);
      context.split = cleared(context.split, SPLITS * 8);
      context.split_most = SPLITS;
    } else if (what == 'f') {
      unsigned long long address, bytes, pattern;
      if (scanf("%llu %llu %llu", &address, &bytes, &pattern) != 3) return 2;
      memset((void *)(shadow + (address - base) / 4), (int)pattern, bytes / 4 * sizeof(Entry));
    } else if (what == 'l') {
      unsigned long long number, kernel;
      if (scanf("%llu %llu", &number, &kernel) != 2) return 2;
      ((uint32_t *)context.kernels)[number] = (uint32_t)kernel;
      parameter = number;
      context.sums = cleared(context.sums, IN_SITU_COPIES * IN_SITU_SUMS);
    } else if (what == 'a' || what == 'w') {
      Access access;
      if (scanf("%u %u %u %u %llu", &access.cta, &access.thread, &access.operation, &access.width, &access.address) != 5) return 2;
      if (what == 'w') {
        meanwhile();
        waiting = access;
        waits = true;
      } else {
        run(access);
      }
    } else if (what == 'e') {
      meanwhile();
      for (unsigned i = 0; i < IN_SITU_SUMS; ++i) printf("%llu ", (unsigned long long)context.sums[i]);
      printf("\n");
    } else if (what == 'p') {
      for (unsigned i = 0; i < ROWS; ++i) {
        const InSituTransfer row = context.transfers[i];
        if (row.source != 0)
          printf("%llu %llu %llu %llu ", (unsigned long long)row.source, (unsigned long long)row.receiver, (unsigned long long)row.bytes,
                 (unsigned long long)row.count);
      }
      printf("\n");
    }
  }
  return 0;
}
