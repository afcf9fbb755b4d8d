/* PTX instructions that CUDA's headers and libdevice contain as inline assembly. Names are `__superstep_ptx_` plus the mnemonic with
 * underscores; operands are in PTX order, and the result is returned. */
#include "half.h"
#include "thread.h"

#include <math.h>

/* Counts, finds and reverses bits. */
#define BITS(bits, type, builtin) \
  uint32_t __superstep_ptx_popc_b##bits(type a) { return (uint32_t)__builtin_popcount##builtin(a); } \
  uint32_t __superstep_ptx_clz_b##bits(type a) { return a ? (uint32_t)__builtin_clz##builtin(a) : bits; } \
  type __superstep_ptx_brev_b##bits(type a) { return __builtin_bitreverse##bits(a); } \
  uint32_t __superstep_ptx_bfind_u##bits(type a) { return a ? bits - 1 - (uint32_t)__builtin_clz##builtin(a) : ~0u; } \
  uint32_t __superstep_ptx_bfind_s##bits(type a) { return __superstep_ptx_bfind_u##bits(a >> (bits - 1) ? ~a : a); } \
  uint32_t __superstep_ptx_bfind_shiftamt_u##bits(type a) { return a ? (uint32_t)__builtin_clz##builtin(a) : ~0u; } \
  uint32_t __superstep_ptx_bfind_shiftamt_s##bits(type a) { \
    return __superstep_ptx_bfind_shiftamt_u##bits(a >> (bits - 1) ? ~a : a); \
  }
BITS(32, uint32_t, )
BITS(64, uint64_t, ll)

/* Bit fields: `length` bits starting at `start`. For 32 bits, both are taken modulo 256, as the manual says; for 64 bits, ptxas's code does
 * not reduce them. */
#define FIELDS(bits, type, largest) \
  static inline type ones##bits(uint32_t count) { return count >= bits ? ~(type)0 : ((type)1 << count) - 1; } \
  type __superstep_ptx_bfe_u##bits(type a, uint32_t start, uint32_t length) { \
    start &= largest, length &= largest; \
    return start >= bits ? 0 : a >> start & ones##bits(length); \
  } \
  type __superstep_ptx_bfe_s##bits(type a, uint32_t start, uint32_t length) { \
    start &= largest, length &= largest; \
    uint32_t last = (uint64_t)start + length > bits ? bits - 1 : start + length - 1; \
    bool negative = length > 0 && (a >> last & 1); \
    type field = start >= bits ? 0 : a >> start & ones##bits(length); \
    uint32_t width = start >= bits ? 0 : last + 1 - start; \
    return negative ? field | ~ones##bits(width) : field; \
  } \
  type __superstep_ptx_bfi_b##bits(type a, type b, uint32_t start, uint32_t length) { \
    start &= largest, length &= largest; \
    if (start >= bits) \
      return b; \
    type mask = ones##bits(length) << start; \
    return (b & ~mask) | (a << start & mask); \
  }
FIELDS(32, uint32_t, 255)
FIELDS(64, uint64_t, UINT32_MAX)

/* Instructions that are equivalent to an intrinsic. */
#define SAME(name, type, intrinsic, parameters, arguments) \
  type __superstep_nvvm_##intrinsic parameters; \
  type __superstep_ptx_##name parameters { return __superstep_nvvm_##intrinsic arguments; }
#define SAME_TWO(name, intrinsic) SAME(name, uint32_t, intrinsic, (uint32_t a, uint32_t b), (a, b))
#define SAME_THREE(name, intrinsic) SAME(name, uint32_t, intrinsic, (uint32_t a, uint32_t b, uint32_t c), (a, b, c))
SAME_THREE(prmt_b32, prmt)
SAME_THREE(prmt_b32_f4e, prmt_f4e)
SAME_THREE(prmt_b32_b4e, prmt_b4e)
SAME_TWO(bmsk_clamp_b32, bmsk_clamp)
SAME_TWO(bmsk_wrap_b32, bmsk_wrap)
SAME_TWO(szext_clamp_u32, zext_clamp)
SAME_TWO(szext_wrap_u32, zext_wrap)
SAME_TWO(szext_clamp_s32, sext_clamp)
SAME_TWO(szext_wrap_s32, sext_wrap)
SAME(fns_b32, uint32_t, fns, (uint32_t mask, uint32_t base, int32_t n), (mask, base, n))
/* These modes use only one operand. */
#define ONE_SOURCE(mode) \
  uint32_t __superstep_nvvm_prmt_##mode(uint32_t a, uint32_t s); \
  uint32_t __superstep_ptx_prmt_b32_##mode(uint32_t a, uint32_t b, uint32_t s) { \
    (void)b; \
    return __superstep_nvvm_prmt_##mode(a, s); \
  }
ONE_SOURCE(rc8)
ONE_SOURCE(ecl)
ONE_SOURCE(ecr)
ONE_SOURCE(rc16)

/* Funnel shifts of {b, a}. wrap: the amount is taken modulo 32; clamp: it is limited to 32. */
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

#define DP2A(name, type_a, type_b) \
  static inline uint32_t dp2a_##name(uint32_t a, uint32_t bytes, uint32_t c) { \
    for (int i = 0; i < 2; i++) \
      c += (uint32_t)((int32_t)(type_a)(a >> (16 * i)) * (int32_t)(type_b)(bytes >> (8 * i))); \
    return c; \
  } \
  uint32_t __superstep_ptx_dp2a_lo_##name(uint32_t a, uint32_t b, uint32_t c) { return dp2a_##name(a, b, c); } \
  uint32_t __superstep_ptx_dp2a_hi_##name(uint32_t a, uint32_t b, uint32_t c) { return dp2a_##name(a, b >> 16, c); }
DP2A(s32_s32, int16_t, int8_t)
DP2A(s32_u32, int16_t, uint8_t)
DP2A(u32_s32, uint16_t, int8_t)
DP2A(u32_u32, uint16_t, uint8_t)

#define TESTS(name, type, flushed_below) \
  bool __superstep_ptx_testp_finite_##name(type a) { return a - a == 0; } \
  bool __superstep_ptx_testp_infinite_##name(type a) { return a == a && a - a != 0; } \
  bool __superstep_ptx_testp_number_##name(type a) { return a == a; } \
  bool __superstep_ptx_testp_notanumber_##name(type a) { return a != a; } \
  bool __superstep_ptx_testp_normal_##name(type a) { return a - a == 0 && (a == 0 || a >= flushed_below || a <= -flushed_below); } \
  bool __superstep_ptx_testp_subnormal_##name(type a) { return a != 0 && a < flushed_below && a > -flushed_below; }
TESTS(f32, float, 0x1p-126f)
TESTS(f64, double, 0x1p-1022)

float __superstep_ptx_flush_f32(float a) { return flush(a); }
float __superstep_ptx_tanh_approx_f32(float a) { return tanhf(a); }

/* Shared memory that CUDA reserves. Cooperative groups use 288 bytes of it and expect zeroes in a new CTA. Each host thread runs one CTA
 * at a time. */
uint32_t __superstep_ptx_reserved_shared(void) {
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
  return (uint32_t)(uint64_t)reserved.bytes;
}

/* Atomics with an ordering and scope strong enough for every PTX variant. */
#define ATOMIC_PTX(operation, type, suffix, builtin) \
  type __superstep_ptx_atom_##operation##_##suffix(void *address, type value) { \
    return builtin((type *)address, value, __ATOMIC_SEQ_CST); \
  }
ATOMIC_PTX(add, uint32_t, u32, __atomic_fetch_add)
ATOMIC_PTX(add, int32_t, s32, __atomic_fetch_add)
ATOMIC_PTX(add, uint64_t, u64, __atomic_fetch_add)
ATOMIC_PTX(add, int64_t, s64, __atomic_fetch_add)
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
#define ATOMIC_HALF(name, sum) \
  static inline uint16_t add_##name(uint16_t a, uint16_t b) { return sum; } \
  ATOMIC_PTX_LOOP(add, uint16_t, name, add_##name(old, value)) \
  ATOMIC_PTX_LOOP(add, uint32_t, name##x2, \
                  add_##name((uint16_t)old, (uint16_t)value) | \
                      (uint32_t)add_##name((uint16_t)(old >> 16), (uint16_t)(value >> 16)) << 16)
ATOMIC_HALF(f16, half_from_double((double)half_to_float(a) + (double)half_to_float(b), TO_NEAREST))
ATOMIC_HALF(bf16, to_bfloat(bfloat_value(a) + bfloat_value(b), true))
ATOMIC_PTX_LOOP(dec, uint32_t, u32, old == 0 || old > value ? value : old - 1)

#define ATOMIC_PTX_CAS(type, suffix) \
  type __superstep_ptx_atom_cas_##suffix(void *address, type expected, type value) { \
    __atomic_compare_exchange_n((type *)address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    return expected; \
  }
ATOMIC_PTX_CAS(uint16_t, b16)
ATOMIC_PTX_CAS(uint32_t, b32)
ATOMIC_PTX_CAS(uint64_t, b64)
