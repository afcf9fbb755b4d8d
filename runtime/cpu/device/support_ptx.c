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
