// Runs the handler of the `in-situ` protocol on the host, warp by warp: device.rs passes it accesses and reads the
// sums. Between the load and the exchange of an entry, another lane or another warp may run.

#include "warp.h"

#define SUPERSTEP_ON_HOST
#define __CUDA__ 1
#define __device__
struct alignas(16) ulonglong2 { unsigned long long x, y; };

#include "in_situ.h"

namespace {
typedef InSituEntry Host;
unsigned lane_number() { return host::lane; }
unsigned sm_number() { return blockIdx.x; }
// The last change to a word in this launch. In some programs, other CTAs' caches may not have it yet.
struct Change {
  const void *place;
  Host was;
  unsigned seen; // CTAs whose caches contain this change, and therefore nothing older
};
Change changes[1 << 10];
unsigned is_cached;
Change &change_of(const void *place) { return changes[(uintptr_t)place / sizeof(Host) % (1 << 10)]; }
Host load(const void *place) {
  host::interleave();
  change_of(place).seen |= 1u << blockIdx.x;
  return *(const Host *)place;
}
Host load_cached(const void *place) {
  const Change &last = change_of(place);
  if (is_cached && last.place == place && !(last.seen >> blockIdx.x & 1) && host::below(2) == 0) return last.was;
  return load(place);
}
Host exchange(void *place, Host old, Host next) {
  host::interleave();
  const Host was = *(const Host *)place;
  if (was.before != old.before || was.now != old.now) return was;
  *(Host *)place = next;
  change_of(place) = {place, was, 1u << blockIdx.x};
  return was;
}
Host exchange_released(void *place, Host old, Host next) { return exchange(place, old, next); }
unsigned shifted(unsigned bits, unsigned by) { return by > 31 ? 0 : bits << by; }
uint64_t set_bits(Host *place, uint64_t bits) {
  host::interleave();
  const Host was = *place;
  place->before |= bits;
  change_of(place) = {place, was, 1u << blockIdx.x};
  return was.before;
}
ulonglong2 load_block(const InSituBlock *place) { return {place->number, place->lines}; }
// A CTA's cache may lack other CTAs' stores to a line until the CTA has seen them once.
struct Line {
  unsigned was, seen;
};
Line lines[1 << (IN_SITU_BLOCK_SHIFT - IN_SITU_LINE_SHIFT)];
unsigned *stored_in;
unsigned load_line(uint64_t place) {
  host::interleave();
  Line &last = lines[(unsigned *)place - stored_in];
  if (is_cached && !(last.seen >> blockIdx.x & 1) && host::below(2) == 0) return last.was;
  last.seen |= 1u << blockIdx.x;
  return *(unsigned *)place;
}
void store_line(uint64_t place, unsigned line) {
  host::interleave();
  lines[(unsigned *)place - stored_in] = {*(unsigned *)place, 1u << blockIdx.x};
  *(unsigned *)place = line;
}
uint64_t load_known(const void *place) {
  host::interleave();
  return *(const uint64_t *)place;
}
// Drops some rows, since any row may be overwritten.
void store_known(void *place, uint64_t row) {
  host::interleave();
  if (host::below(8) != 0) *(uint64_t *)place = row;
}
uint64_t load_claim(const void *place) { return load_known(place); }
void store_claim(void *place, uint64_t row) { store_known(place, row); }
void add(uint64_t *word, uint64_t value) {
  host::interleave();
  *word += value;
}
// The ring is larger than any program needs.
void wait_until_above(const uint64_t *, uint64_t) { abort(); }
void store_to_host(void *place, uint64_t first, uint64_t second) {
  host::interleave();
  *(Host *)place = {first, second};
}
} // namespace

#include "probe_trace_in-situ.cu"

namespace {

const unsigned LINE = 1 << IN_SITU_LINE_SHIFT, ROWS = 1 << 13, FEW_ROWS = 4, SPLITS = 1 << 12, FEW_SPLITS = 16, LAUNCHES = 1 << 10, WORDS = 1 << (IN_SITU_BLOCK_SHIFT - 2);
InSituBlock block;
InSituContext context;
unsigned long long parameter;
uint64_t selection[8];

template <class T> T *cleared(T *memory, size_t count) {
  if (memory == nullptr) return (T *)calloc(count, sizeof(T));
  memset((void *)memory, 0, count * sizeof(T));
  return memory;
}

} // namespace

void host::run_lane(const Access &access, unsigned lane) {
  InSituFunction own;
  void *address = (void *)access.addresses[lane];
  __superstep_probe_begin(&context, parameter, &own);
  // Exercises the code for compile-time constant sites and widths as well as the code for variable ones.
  access_from(&context, parameter, access.operation << 28, address, access.width, &own, access.first_thread % 64 == 0);
  __superstep_probe_end(&context, parameter, &own);
}

// Each line of the input begins with a letter: `n` base, seed, whether caches may be stale, mask of CTA blocks: a new
// program; `f` offset, bytes, pattern: a fill; `s` number, words: the selection of CTAs; `l` number, kernel, bits of
// the selection: a launch; `a` CTA, first thread, operation, width, mask, and each active lane's offset: an access;
// `w`, with the same arguments: an access that runs soon, between the steps of others; `r` bits, groups: prints how
// many of 32 * groups consecutive words find no room in a set of 2^bits rows; `e`: ends the launch and prints its sums;
// `p`: ends the program and prints the rows of its transfers.
int main() {
  char command;
  Entry *shadow = nullptr;
  unsigned long long base = 0;
  host::begin_stacks();
  while (scanf(" %c", &command) == 1) {
    if (command == 'n') {
      unsigned long long block_bits;
      if (scanf("%llu %lu %u %llu", &base, &host::chance, &is_cached, &block_bits) != 4) return 2;
      context.block_bits = block_bits;
      if (shadow == nullptr) shadow = (Entry *)calloc(WORDS, sizeof(Entry));
      if (stored_in == nullptr) stored_in = (unsigned *)malloc(sizeof(lines) / sizeof(Line) * 4);
      memset(stored_in, 0xee, sizeof(lines) / sizeof(Line) * 4);
      block = {base >> IN_SITU_BLOCK_SHIFT, (uint64_t)stored_in, (uint64_t)shadow, 0};
      context.version = IN_SITU_VERSION;
      context.blocks = &block;
      context.block_mask = 0;
      context.known = cleared(context.known, IN_SITU_KNOWN_BYTES / sizeof(uint64_t));
      context.sums = cleared(context.sums, IN_SITU_COPIES * IN_SITU_SUMS);
      context.readers = cleared(context.readers, ROWS);
      context.reader_mask = ROWS - 1;
      context.transfers = cleared(context.transfers, ROWS);
      // In half of the programs, most transfers find no room in the table.
      context.transfer_mask = (host::chance & 1 ? FEW_ROWS : ROWS) - 1;
      context.additions = cleared(context.additions, ROWS);
      context.addition_mask = ROWS - 1;
      context.added = cleared(context.added, 1);
      context.kernels = cleared((uint32_t *)context.kernels, LAUNCHES);
      context.split = cleared(context.split, FEW_SPLITS * 8);
      context.split_most = FEW_SPLITS;
      context.more_split = cleared(context.more_split, SPLITS * 8);
      context.more_split_most = SPLITS;
    } else if (command == 'f') {
      unsigned offset, bytes, pattern;
      if (scanf("%u %u %u", &offset, &bytes, &pattern) != 3) return 2;
      memset((void *)(shadow + offset / 4), (int)pattern, bytes / 4 * sizeof(Entry));
      for (unsigned at = offset / LINE * LINE; at < offset + bytes; at += LINE)
        memset(stored_in + at / LINE, at >= offset && at + LINE <= offset + bytes ? (int)pattern : 0xee, 4);
    } else if (command == 's') {
      unsigned words;
      if (scanf("%u", &words) != 1 || words > 8) return 2;
      for (unsigned i = 0; i < words; ++i)
        if (scanf("%lu", &selection[i]) != 1) return 2;
      context.selection = selection;
    } else if (command == 'l') {
      unsigned long long number, kernel, bits;
      if (scanf("%llu %llu %llu", &number, &kernel, &bits) != 3) return 2;
      ((uint32_t *)context.kernels)[number] = (uint32_t)kernel;
      parameter = number | bits;
      memset((void *)changes, 0, sizeof(changes));
      for (unsigned i = 0; i < sizeof(lines) / sizeof(Line); ++i) lines[i] = {stored_in[i], ~0u};
      context.sums = cleared(context.sums, IN_SITU_COPIES * IN_SITU_SUMS);
    } else if (command == 'a' || command == 'w') {
      Access access;
      if (scanf("%u %u %u %u %x", &access.cta, &access.first_thread, &access.operation, &access.width, &access.mask) != 5) return 2;
      for (unsigned lane = 0; lane < host::LANES; ++lane) {
        unsigned offset = 0;
        if (access.mask >> lane & 1 && scanf("%u", &offset) != 1) return 2;
        access.addresses[lane] = base + offset;
      }
      host::begin(access, command == 'w');
    } else if (command == 'e') {
      host::run_waiting();
      for (unsigned i = 0; i < IN_SITU_SUMS; ++i) {
        unsigned long long sum = 0;
        for (unsigned copy = 0; copy < IN_SITU_COPIES; ++copy) sum += context.sums[copy * IN_SITU_SUMS + i];
        printf("%llu ", sum);
      }
      printf("\n");
    } else if (command == 'r') {
      unsigned bits, groups, without_room = 0;
      if (scanf("%u %u", &bits, &groups) != 2) return 2;
      const uint64_t mask = (1ull << bits) - 1;
      char *taken = (char *)calloc((mask + 1) / 32, 1);
      for (uint64_t group = 0; group < groups; ++group) {
        const unsigned hash = reader_hash(group % 1024 << IN_SITU_CTA_SHIFT, group << 5);
        unsigned tries = 0;
        while (tries < ROWS_TRIED && taken[reader_place(hash, 0, tries, mask) / 32]) ++tries;
        if (tries < ROWS_TRIED) taken[reader_place(hash, 0, tries, mask) / 32] = 1;
        else ++without_room;
      }
      free(taken);
      printf("%u\n", without_room);
    } else if (command == 'p') {
      for (unsigned i = 0; i < ROWS; ++i) {
        const InSituTransfer row = context.transfers[i];
        if (row.source != 0)
          printf("%llu %llu %llu %llu %llu ", (unsigned long long)row.source, (unsigned long long)row.receiver, (unsigned long long)row.bytes,
                 (unsigned long long)row.count, (unsigned long long)row.stored);
      }
      for (uint64_t i = 0; i < *context.added; ++i) {
        const InSituAddition one = context.additions[i];
        const unsigned long long mask = IN_SITU_ADDED_MASK, added = one.receiver & mask, stored_mask = (1 << IN_SITU_ADDED_COUNT_SHIFT) - 1;
        printf("%llu %llu %llu %llu %llu ", one.source & ~mask, one.receiver & ~mask, one.source & mask, added >> IN_SITU_ADDED_COUNT_SHIFT,
               added & stored_mask);
      }
      printf("\n");
    }
  }
  return 0;
}
