// Runs after each launch in situ: goes through what its CTAs received, marks who read it, adds it to the table of transfers, and clears
// the set for the next launch. `in_situ_gather.ptx` is this file compiled (tests/device_code.rs compares them).

#include "in_situ.cuh"

namespace {

// What a CTA received from one source, not yet in the table.
struct Received {
  uint64_t source, receiver;
  unsigned bytes, count;
};

// What was read first of a launch, not yet in its sum.
struct FirstRead {
  unsigned source_launch, bytes;
};

struct Gather {
  const InSituContext *context;
  uint64_t *sums;
  unsigned launch;

  INLINE void flush(const Received &received) const {
    if (received.bytes != 0) transfer(context, sums, received.source, received.receiver, received.bytes, received.count);
  }

  INLINE void flush(const FirstRead &first) const {
    if (first.bytes != 0) add_first_read(context, sums, launch, first.source_launch, first.bytes);
  }

  // `place` holds `e`, which is not split; `marks` are its bytes that a CTA received. `count`: accesses that begin here. `begins`: so does
  // the access, whose other words may have the same source.
  INLINE void add_part(Entry *place, Entry e, unsigned marks, uint64_t receiver, unsigned count, bool begins, uint64_t *access_source,
                       Received *received, FirstRead *first) const {
    const uint64_t source = in_situ_source(e, launch);
    const unsigned source_launch = (unsigned)(source >> IN_SITU_LAUNCH_SHIFT);
    const unsigned shift = was_written_in(launch, e) ? IN_SITU_BEFORE_READ_SHIFT : IN_SITU_NOW_READ_SHIFT;
    if ((marks & ~(unsigned)(e.before >> shift)) != 0) {
      const ulong64 old = atomicOr(reinterpret_cast<ulong64 *>(&place->before), (ulong64)marks << shift);
      if (source_launch != first->source_launch) {
        flush(*first);
        first->source_launch = source_launch;
        first->bytes = 0;
      }
      first->bytes += __popc(marks & ~(unsigned)(old >> shift));
    }
    const uint64_t from = source >> IN_SITU_CTA_SHIFT << IN_SITU_CTA_SHIFT;
    if (source & IN_SITU_BEFORE_SEVERAL) {
      const uint64_t any = (uint64_t)IN_SITU_OF_LAUNCHES << IN_SITU_CTA_SHIFT;
      transfer(context, sums, (uint64_t)source_launch << IN_SITU_LAUNCH_SHIFT | any, (uint64_t)launch << IN_SITU_LAUNCH_SHIFT | any, 0,
               __popc(marks));
      *access_source = 0;
      return;
    }
    if (from != received->source || receiver != received->receiver) {
      flush(*received);
      *received = {from, receiver, 0, 0};
    }
    received->bytes += __popc(marks);
    received->count += begins || from != *access_source ? count : 0;
    *access_source = from;
  }
};

} // namespace

// Whole warps, any number. `parameter` is that of the launch's kernel.
extern "C" __global__ void __superstep_in_situ_gather(const void *of, ulong64 parameter) {
  const InSituContext *context = static_cast<const InSituContext *>(of);
  const Gather gather = {context, sums_of(context, parameter, blockIdx.x), launch_of(parameter)};
  const unsigned lane = threadIdx.x & 31, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = gridDim.x * blockDim.x / 32;
  const unsigned words = (unsigned)((context->reader_mask + 1) / IN_SITU_GROUP / 64);
  const unsigned near = min(words, IN_SITU_NEAR_READERS / IN_SITU_GROUP / 64);
  // A warp looks at one word of `used` where most of them say something, and at as many as it has lanes elsewhere.
  const unsigned pieces = near + (words - near + 31) / 32;
  Received received = {0, 0, 0, 0};
  FirstRead first = {0, 0};
  for (unsigned piece = warp; piece < pieces; piece += warps) {
    const bool is_near = piece < near;
    const unsigned begin = is_near ? piece : near + (piece - near) * 32;
    const unsigned mine = begin + lane;
    ulong64 used = 0;
    if (mine < words && (!is_near || lane == 0)) used = context->used[mine];
    if (used != 0) context->used[mine] = 0;
    for (unsigned with = __ballot_sync(0xffffffffu, used != 0); with != 0; with &= with - 1) {
      const unsigned index = __ffs(with) - 1;
      // Each lane has two groups of the word.
      const ulong64 word_of_used = __shfl_sync(0xffffffffu, used, index);
      unsigned groups = (unsigned)(word_of_used >> (2 * lane)) & 3, rows = 0, bytes = 0;
      InSituReader *row = nullptr;
      Entry found = {0, 0};
      uint64_t receiver = 0, access_source = 0;
      // A word in each round, or a step to the next row.
      while (groups != 0 || rows != 0 || bytes != 0) {
        if (bytes == 0) {
          if (rows == 0) {
            const uint64_t group = (uint64_t)(begin + index) * 64 + 2 * lane + __ffs(groups) - 1;
            row = context->readers + group * IN_SITU_GROUP;
            groups &= groups - 1;
            rows = IN_SITU_GROUP;
          }
          found = load(row); // `before` is `low`, `now` is `high`
          bytes = (unsigned)found.before;
          if (found.now != 0) row->low = row->high = 0;
          ++row;
          --rows;
          const unsigned cta = (unsigned)(found.before >> IN_SITU_READER_CTA_SHIFT) |
                               ((unsigned)(found.now >> IN_SITU_READER_SECTOR_BITS) & 0x7fff) << 12;
          receiver = (uint64_t)gather.launch << IN_SITU_LAUNCH_SHIFT | (uint64_t)cta << IN_SITU_CTA_SHIFT;
          if (bytes == 0) continue;
        }
        const unsigned word = (__ffs(bytes) - 1) / 4, marks = bytes >> (4 * word) & 0xf;
        bytes &= ~(0xfu << (4 * word));
        const uint64_t sector = found.now & ((1ull << IN_SITU_READER_SECTOR_BITS) - 1);
        const unsigned widths = (unsigned)(found.before >> (IN_SITU_READER_WIDTHS_SHIFT + 5 * (word / 2))) & 0x1f;
        // Of a width that is not a usual one, the whole row is one access.
        const unsigned width_log2 = widths == 0 ? 5 : __ffs(widths) - 1, width_words = 1u << width_log2 >> 2;
        const bool begins = width_words < 2 || (word & (width_words - 1)) == 0;
        Entry *place = entry_of(context, sector << 5 | word << 2);
        const Entry e = load(place);
        if (!is_split(e)) {
          const unsigned count = width_log2 < 2 ? __popc(marks) >> width_log2 : 1;
          gather.add_part(place, e, marks, receiver, count, begins, &access_source, &received, &first);
          continue;
        }
        Entry *parts = bytes_of(context, e);
        for (unsigned byte = 0; byte < 4; ++byte) {
          if (!(marks >> byte & 1)) continue;
          const bool first_byte = begins && (byte & ((1u << width_log2) - 1) & 3) == 0;
          gather.add_part(parts + byte, load(parts + byte), 1, receiver, 1, first_byte, &access_source, &received, &first);
        }
      }
      __syncwarp();
    }
  }
  gather.flush(received);
  // Nearly always, all read first of the same launch.
  const unsigned launch = __reduce_max_sync(0xffffffffu, first.source_launch);
  if (__all_sync(0xffffffffu, first.bytes == 0 || first.source_launch == launch)) {
    first.bytes = __reduce_add_sync(0xffffffffu, first.bytes);
    first.source_launch = launch;
    if (lane != 0) first.bytes = 0;
  }
  gather.flush(first);
}
