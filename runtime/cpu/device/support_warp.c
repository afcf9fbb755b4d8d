/* Warp operations, all based on one primitive: each lane in a mask exchanges a 64-bit value with the others. */
#include "thread.h"

static inline uint32_t bits_of(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}
static inline float float_of(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

/* Modes of `shuffle`, which follows the PTX manual's pseudocode for shfl.sync; `c` contains the clamp and the segment mask. */
enum { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BUTTERFLY, SHUFFLE_INDEX };

static inline uint32_t shuffle(int mode, uint32_t mask, uint32_t value, uint32_t b, uint32_t c, bool *in_range) {
  uint64_t values[32];
  __superstep_warp_gather(mask, value, values);
  int lane = (int)__superstep_thread.lane;
  int offset = (int)(b & 31), clamp = (int)(c & 31), segment = (int)(c >> 8 & 31);
  int max_lane = (lane & segment) | (clamp & ~segment), min_lane = lane & segment;
  int source = lane;
  bool valid = false;
  switch (mode) {
  case SHUFFLE_UP:
    source = lane - offset;
    valid = source >= max_lane;
    break;
  case SHUFFLE_DOWN:
    source = lane + offset;
    valid = source <= max_lane;
    break;
  case SHUFFLE_BUTTERFLY:
    source = lane ^ offset;
    valid = source <= max_lane;
    break;
  default:
    source = min_lane | (offset & ~segment);
    valid = source <= max_lane;
    break;
  }
  *in_range = valid;
  return (uint32_t)values[(valid ? source : lane) & 31];
}

struct IntAndFlag {
  int32_t value;
  bool flag;
};
struct FloatAndFlag {
  float value;
  bool flag;
};

#define SHUFFLE(name, mode) \
  int32_t __superstep_nvvm_shfl_sync_##name##_i32(uint32_t mask, int32_t value, uint32_t b, uint32_t c) { \
    bool in_range; \
    return (int32_t)shuffle(mode, mask, (uint32_t)value, b, c, &in_range); \
  } \
  float __superstep_nvvm_shfl_sync_##name##_f32(uint32_t mask, float value, uint32_t b, uint32_t c) { \
    bool in_range; \
    return float_of(shuffle(mode, mask, bits_of(value), b, c, &in_range)); \
  } \
  void __superstep_nvvm_shfl_sync_##name##_i32p(struct IntAndFlag *result, uint32_t mask, int32_t value, uint32_t b, \
                                                uint32_t c) { \
    result->value = (int32_t)shuffle(mode, mask, (uint32_t)value, b, c, &result->flag); \
  } \
  void __superstep_nvvm_shfl_sync_##name##_f32p(struct FloatAndFlag *result, uint32_t mask, float value, uint32_t b, \
                                                uint32_t c) { \
    result->value = float_of(shuffle(mode, mask, bits_of(value), b, c, &result->flag)); \
  } \
  int32_t __superstep_nvvm_shfl_##name##_i32(int32_t value, uint32_t b, uint32_t c) { \
    bool in_range; \
    return (int32_t)shuffle(mode, ~0u, (uint32_t)value, b, c, &in_range); \
  } \
  float __superstep_nvvm_shfl_##name##_f32(float value, uint32_t b, uint32_t c) { \
    bool in_range; \
    return float_of(shuffle(mode, ~0u, bits_of(value), b, c, &in_range)); \
  }
SHUFFLE(up, SHUFFLE_UP)
SHUFFLE(down, SHUFFLE_DOWN)
SHUFFLE(bfly, SHUFFLE_BUTTERFLY)
SHUFFLE(idx, SHUFFLE_INDEX)

/* Returns the lanes with a true predicate; `*voters` receives the lanes that voted. */
static inline uint32_t ballot(uint32_t mask, bool predicate, uint32_t *voters) {
  uint64_t values[32];
  uint32_t present = __superstep_warp_gather(mask, predicate, values), result = 0;
  for (int lane = 0; lane < 32; lane++)
    result |= (uint32_t)(values[lane] & 1) << lane;
  *voters = present;
  return result & present;
}

static inline bool vote_all(uint32_t mask, bool predicate) {
  uint32_t present, yes = ballot(mask, predicate, &present);
  return yes == present;
}
static inline bool vote_any(uint32_t mask, bool predicate) {
  uint32_t present;
  return ballot(mask, predicate, &present) != 0;
}
static inline bool vote_uniform(uint32_t mask, bool predicate) {
  uint32_t present, yes = ballot(mask, predicate, &present);
  return yes == 0 || yes == present;
}
static inline uint32_t vote_ballot(uint32_t mask, bool predicate) {
  uint32_t present;
  return ballot(mask, predicate, &present);
}

bool __superstep_nvvm_vote_all_sync(uint32_t mask, bool predicate) { return vote_all(mask, predicate); }
bool __superstep_nvvm_vote_any_sync(uint32_t mask, bool predicate) { return vote_any(mask, predicate); }
bool __superstep_nvvm_vote_uni_sync(uint32_t mask, bool predicate) { return vote_uniform(mask, predicate); }
uint32_t __superstep_nvvm_vote_ballot_sync(uint32_t mask, bool predicate) { return vote_ballot(mask, predicate); }
bool __superstep_nvvm_vote_all(bool predicate) { return vote_all(~0u, predicate); }
bool __superstep_nvvm_vote_any(bool predicate) { return vote_any(~0u, predicate); }
bool __superstep_nvvm_vote_uni(bool predicate) { return vote_uniform(~0u, predicate); }
uint32_t __superstep_nvvm_vote_ballot(bool predicate) { return vote_ballot(~0u, predicate); }

static inline uint32_t match_any(uint32_t mask, uint64_t value) {
  uint64_t values[32];
  uint32_t present = __superstep_warp_gather(mask, value, values), same = 0;
  for (int lane = 0; lane < 32; lane++)
    same |= (uint32_t)(values[lane] == value) << lane;
  return same & present;
}
static inline void match_all(struct IntAndFlag *result, uint32_t mask, uint64_t value) {
  uint64_t values[32];
  uint32_t present = __superstep_warp_gather(mask, value, values), same = 0;
  for (int lane = 0; lane < 32; lane++)
    same |= (uint32_t)(values[lane] == value) << lane;
  result->flag = (same & present) == present;
  result->value = result->flag ? (int32_t)present : 0;
}
uint32_t __superstep_nvvm_match_any_sync_i32(uint32_t mask, uint32_t value) { return match_any(mask, value); }
uint32_t __superstep_nvvm_match_any_sync_i64(uint32_t mask, uint64_t value) { return match_any(mask, value); }
void __superstep_nvvm_match_all_sync_i32p(struct IntAndFlag *result, uint32_t mask, uint32_t value) {
  match_all(result, mask, value);
}
void __superstep_nvvm_match_all_sync_i64p(struct IntAndFlag *result, uint32_t mask, uint64_t value) {
  match_all(result, mask, value);
}

#define REDUX(name, type, first, step) \
  uint32_t __superstep_nvvm_redux_sync_##name(uint32_t own, uint32_t mask) { \
    uint64_t values[32]; \
    uint32_t present = __superstep_warp_gather(mask, own, values); \
    type total = (type)(first); \
    for (int lane = 0; lane < 32; lane++) \
      if (present >> lane & 1) { \
        type value = (type)(uint32_t)values[lane]; \
        total = step; \
      } \
    return (uint32_t)total; \
  }
REDUX(add, uint32_t, 0, total + value)
REDUX(and, uint32_t, ~0u, total &value)
REDUX(or, uint32_t, 0, total | value)
REDUX(xor, uint32_t, 0, total ^ value)
REDUX(umin, uint32_t, ~0u, value < total ? value : total)
REDUX(umax, uint32_t, 0, value > total ? value : total)
REDUX(min, int32_t, 0x7fffffff, value < total ? value : total)
REDUX(max, int32_t, 0x80000000u, value > total ? value : total)

void __superstep_nvvm_bar_warp_sync(uint32_t mask) {
  uint64_t values[32];
  __superstep_warp_gather(mask, 0, values);
}

/* Not inlined: the return address identifies the call site in the kernel, so that only lanes at the same site are grouped. */
__attribute__((noinline)) uint32_t __superstep_nvvm_activemask(void) {
  return __superstep_active_mask_at(__builtin_return_address(0));
}

/* The leader is the lowest lane of the mask. */
void __superstep_nvvm_elect_sync(struct IntAndFlag *result, uint32_t mask) {
  uint64_t values[32];
  uint32_t present = __superstep_warp_gather(mask, 0, values);
  result->value = present ? __builtin_ctz(present) : 0;
  result->flag = (uint32_t)result->value == __superstep_thread.lane;
}

/* Variants for PTX, which return the predicate in the bits above the 32-bit result. */
#define SHUFFLE_PTX(name, mode) \
  uint64_t __superstep_ptx_shfl_##name(uint32_t value, uint32_t b, uint32_t c, uint32_t mask) { \
    bool in_range; \
    uint32_t result = shuffle(mode, mask, value, b, c, &in_range); \
    return result | (uint64_t)in_range << 32; \
  }
SHUFFLE_PTX(up, SHUFFLE_UP)
SHUFFLE_PTX(down, SHUFFLE_DOWN)
SHUFFLE_PTX(bfly, SHUFFLE_BUTTERFLY)
SHUFFLE_PTX(idx, SHUFFLE_INDEX)
static inline uint64_t with_flag(struct IntAndFlag result) { return (uint32_t)result.value | (uint64_t)result.flag << 32; }
uint64_t __superstep_ptx_match_any(uint64_t value, uint32_t mask) { return match_any(mask, value); }
uint64_t __superstep_ptx_match_all(uint64_t value, uint32_t mask) {
  struct IntAndFlag result;
  match_all(&result, mask, value);
  return with_flag(result);
}
uint64_t __superstep_ptx_elect(uint32_t mask) {
  struct IntAndFlag result;
  __superstep_nvvm_elect_sync(&result, mask);
  return with_flag(result);
}
