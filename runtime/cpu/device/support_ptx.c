/* Single PTX instructions that CUDA's headers and libdevice write as inline assembly: `__superstep_ptx_` and the mnemonic with underscores,
 * operands in PTX's order, the result returned. */
#include "thread.h"

/* libdevice calls this one by the name of an intrinsic. */
uint32_t __superstep_nvvm_bfind_shiftamt_u32(uint32_t a) { return a ? (uint32_t)__builtin_clz(a) : ~0u; }

uint32_t __superstep_ptx_bfind_u32(uint32_t a) { return a ? 31u - (uint32_t)__builtin_clz(a) : ~0u; }
uint32_t __superstep_ptx_bfind_s32(int32_t a) { return __superstep_ptx_bfind_u32((uint32_t)(a < 0 ? ~a : a)); }
uint32_t __superstep_ptx_bfind_shiftamt_u32(uint32_t a) { return __superstep_nvvm_bfind_shiftamt_u32(a); }
uint32_t __superstep_ptx_bfind_u64(uint64_t a) { return a ? 63u - (uint32_t)__builtin_clzll(a) : ~0u; }

/* Funnel shifts of {b, a}; wrap: the amount modulo 32, clamp: at most 32. */
static inline uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t amount) {
  return (uint32_t)((((uint64_t)high << 32 | low) << amount) >> 32);
}
static inline uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t amount) {
  return (uint32_t)(((uint64_t)high << 32 | low) >> amount);
}
uint32_t __superstep_ptx_shf_l_wrap_b32(uint32_t a, uint32_t b, uint32_t c) { return funnel_left(a, b, c & 31); }
uint32_t __superstep_ptx_shf_r_wrap_b32(uint32_t a, uint32_t b, uint32_t c) { return funnel_right(a, b, c & 31); }
uint32_t __superstep_ptx_shf_l_clamp_b32(uint32_t a, uint32_t b, uint32_t c) { return funnel_left(a, b, c > 32 ? 32 : c); }
uint32_t __superstep_ptx_shf_r_clamp_b32(uint32_t a, uint32_t b, uint32_t c) { return funnel_right(a, b, c > 32 ? 32 : c); }

/* Bit fields: `length` bits from `start` on, both taken modulo 256. */
static inline uint32_t field_mask(uint32_t start, uint32_t length) {
  return (uint32_t)(((start >= 32 ? 0 : ~0ull << start)) & ~(start + length >= 32 ? ~0ull << 32 : ~0ull << (start + length)));
}
uint32_t __superstep_ptx_bfe_u32(uint32_t a, uint32_t start, uint32_t length) {
  start &= 255, length &= 255;
  return start >= 32 ? 0 : (a & field_mask(start, length)) >> start;
}
uint32_t __superstep_ptx_bfe_s32(int32_t a, uint32_t start, uint32_t length) {
  start &= 255, length &= 255;
  if (length == 0)
    return 0;
  uint32_t last = start + length - 1 > 31 ? 31 : start + length - 1;
  uint32_t sign = (uint32_t)a >> last & 1 ? ~0u : 0;
  uint32_t kept = start >= 32 ? 0 : ((uint32_t)a & field_mask(start, length)) >> start;
  uint32_t width = start > last ? 0 : last - start + 1;
  return width >= 32 ? kept : kept | (sign << width);
}
uint32_t __superstep_ptx_bfi_b32(uint32_t a, uint32_t b, uint32_t start, uint32_t length) {
  start &= 255, length &= 255;
  uint32_t mask = field_mask(start, length);
  return (b & ~mask) | ((start >= 32 ? 0 : a << start) & mask);
}

#define DP4A(name, type_a, type_b) \
  uint32_t __superstep_ptx_dp4a_##name(uint32_t a, uint32_t b, uint32_t c) { \
    for (int i = 0; i < 32; i += 8) \
      c += (uint32_t)((int32_t)(type_a)(a >> i) * (int32_t)(type_b)(b >> i)); \
    return c; \
  }
DP4A(s32_s32, int8_t, int8_t)
DP4A(s32_u32, int8_t, uint8_t)
DP4A(u32_s32, uint8_t, int8_t)
DP4A(u32_u32, uint8_t, uint8_t)

/* Shared memory that CUDA keeps for itself, of which cooperative groups use 288 bytes and expect zeroes in a new CTA. CTAs run one
 * after the other on a thread. */
uint64_t __superstep_ptx_reserved_shared(void) {
  static _Thread_local struct {
    uint64_t bytes[128], grid;
    uint32_t ctaid[3];
    bool used;
  } reserved;
  const uint32_t *cta = __superstep_thread.ctaid;
  uint64_t grid = __superstep_grid_id();
  if (!reserved.used || reserved.grid != grid || __builtin_memcmp(reserved.ctaid, cta, sizeof reserved.ctaid) != 0) {
    __builtin_memset(&reserved, 0, sizeof reserved);
    __builtin_memcpy(reserved.ctaid, cta, sizeof reserved.ctaid);
    reserved.grid = grid;
    reserved.used = true;
  }
  return (uint64_t)reserved.bytes;
}

/* Atomics; whatever order and scope PTX asks for, this one is strong enough. */
#define ATOMIC_PTX(operation, type, suffix, builtin) \
  type __superstep_ptx_atom_##operation##_##suffix(void *address, type value) { \
    return builtin((type *)address, value, __ATOMIC_SEQ_CST); \
  }
ATOMIC_PTX(add, uint32_t, u32, __atomic_fetch_add)
ATOMIC_PTX(add, int32_t, s32, __atomic_fetch_add)
ATOMIC_PTX(add, uint64_t, u64, __atomic_fetch_add)
ATOMIC_PTX(and, uint32_t, b32, __atomic_fetch_and)
ATOMIC_PTX(and, uint64_t, b64, __atomic_fetch_and)
ATOMIC_PTX(or, uint32_t, b32, __atomic_fetch_or)
ATOMIC_PTX(or, uint64_t, b64, __atomic_fetch_or)
ATOMIC_PTX(xor, uint32_t, b32, __atomic_fetch_xor)
ATOMIC_PTX(xor, uint64_t, b64, __atomic_fetch_xor)
ATOMIC_PTX(exch, uint32_t, b32, __atomic_exchange_n)
ATOMIC_PTX(exch, uint64_t, b64, __atomic_exchange_n)
ATOMIC_PTX(min, uint32_t, u32, __atomic_fetch_min)
ATOMIC_PTX(min, int32_t, s32, __atomic_fetch_min)
ATOMIC_PTX(min, uint64_t, u64, __atomic_fetch_min)
ATOMIC_PTX(min, int64_t, s64, __atomic_fetch_min)
ATOMIC_PTX(max, uint32_t, u32, __atomic_fetch_max)
ATOMIC_PTX(max, int32_t, s32, __atomic_fetch_max)
ATOMIC_PTX(max, uint64_t, u64, __atomic_fetch_max)
ATOMIC_PTX(max, int64_t, s64, __atomic_fetch_max)

#define ATOMIC_PTX_LOOP(operation, type, suffix, step) \
  type __superstep_ptx_atom_##operation##_##suffix(void *address, type value) { \
    type old, replacement; \
    __atomic_load((type *)address, &old, __ATOMIC_RELAXED); \
    do { \
      replacement = step; \
    } while (!__atomic_compare_exchange((type *)address, &old, &replacement, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
    return old; \
  }
ATOMIC_PTX_LOOP(add, float, f32, old + value)
ATOMIC_PTX_LOOP(add, double, f64, old + value)
ATOMIC_PTX_LOOP(inc, uint32_t, u32, old >= value ? 0 : old + 1)
ATOMIC_PTX_LOOP(dec, uint32_t, u32, old == 0 || old > value ? value : old - 1)

#define ATOMIC_PTX_CAS(type, suffix) \
  type __superstep_ptx_atom_cas_##suffix(void *address, type expected, type value) { \
    __atomic_compare_exchange_n((type *)address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    return expected; \
  }
ATOMIC_PTX_CAS(uint32_t, b32)
ATOMIC_PTX_CAS(uint64_t, b64)

void __superstep_ptx_nanosleep_u32(uint32_t nanoseconds) {
  (void)nanoseconds;
  __superstep_yield();
}

static inline uint16_t bits_of_half(_Float16 value) {
  uint16_t bits;
  __builtin_memcpy(&bits, &value, 2);
  return bits;
}
static inline _Float16 half_of_bits(uint16_t bits) {
  _Float16 value;
  __builtin_memcpy(&value, &bits, 2);
  return value;
}
uint16_t __superstep_ptx_cvt_rn_f16_f32(float a) { return bits_of_half((_Float16)a); }
float __superstep_ptx_cvt_f32_f16(uint16_t a) { return (float)half_of_bits(a); }
#define HALF(name, operator) \
  uint16_t __superstep_ptx_##name(uint16_t a, uint16_t b) { \
    return bits_of_half((_Float16)((float)half_of_bits(a) operator (float)half_of_bits(b))); \
  }
HALF(add_f16, +)
HALF(sub_f16, -)
HALF(mul_f16, *)
HALF(add_rn_f16, +)
HALF(sub_rn_f16, -)
HALF(mul_rn_f16, *)
