/* Half-precision PTX as CUDA's header writes it inline: one value in 16 bits, pairs in 32, the lower half first. Results are computed
 * in float, which is wide enough that rounding twice does no harm, or in double where three operands meet. */
#include "float.h"

static inline uint16_t to_half(double value) {
  _Float16 rounded = (_Float16)value;
  uint16_t bits;
  __builtin_memcpy(&bits, &rounded, 2);
  return bits;
}
static inline float of_half(uint16_t bits) {
  _Float16 value;
  __builtin_memcpy(&value, &bits, 2);
  return (float)value;
}
static inline uint32_t both(uint16_t low, uint16_t high) { return low | (uint32_t)high << 16; }
static inline uint16_t low(uint32_t pair) { return (uint16_t)pair; }
static inline uint16_t high(uint32_t pair) { return (uint16_t)(pair >> 16); }
static inline float saturate_float(float value) { return saturate(value); }
static inline float same(float value) { return value; }

#define UNARY(name, type, expression) \
  uint16_t __superstep_ptx_##name##_f16(uint16_t a) { return expression; } \
  uint32_t __superstep_ptx_##name##_f16x2(uint32_t pair) { \
    uint16_t a = low(pair), first = expression; \
    a = high(pair); \
    return both(first, expression); \
  }
UNARY(neg, uint16_t, a ^ 0x8000)
UNARY(abs, uint16_t, a & 0x7fff)

#define PAIR_OF(name) \
  uint32_t __superstep_ptx_##name##_f16x2(uint32_t a, uint32_t b) { \
    return both(half_##name(low(a), low(b)), half_##name(high(a), high(b))); \
  }
#define BINARY(name, post, expression) \
  static inline uint16_t half_##name(uint16_t left, uint16_t right) { \
    float a = of_half(left), b = of_half(right); \
    return to_half(post(expression)); \
  } \
  PAIR_OF(name)
BINARY(add, same, a + b)
BINARY(sub, same, a - b)
BINARY(mul, same, a *b)
BINARY(add_rn, same, a + b)
BINARY(sub_rn, same, a - b)
BINARY(mul_rn, same, a *b)
BINARY(add_sat, saturate_float, a + b)
BINARY(sub_sat, saturate_float, a - b)
BINARY(mul_sat, saturate_float, a *b)
#define SATURATED(name) \
  uint16_t __superstep_ptx_##name##_f16(uint16_t a, uint16_t b) { return half_##name(a, b); }
SATURATED(add_sat)
SATURATED(sub_sat)
SATURATED(mul_sat)

/* A NaN loses against a number, or wins (`NaN`); -0 is less than +0. */
static inline uint16_t lesser(uint16_t left, uint16_t right, bool nan_wins, bool greater) {
  float a = of_half(left), b = of_half(right);
  if (a != a || b != b)
    return nan_wins || (a != a && b != b) ? 0x7fff : a != a ? right : left;
  if (a == b)
    return greater ? left & right : left | right;
  return (a < b) != greater ? left : right;
}
#define CHOOSE(name, nan_wins, greater) \
  static inline uint16_t half_##name(uint16_t a, uint16_t b) { return lesser(a, b, nan_wins, greater); } \
  uint16_t __superstep_ptx_##name##_f16(uint16_t a, uint16_t b) { return half_##name(a, b); } \
  PAIR_OF(name)
CHOOSE(min, false, false)
CHOOSE(max, false, true)
CHOOSE(min_NaN, true, false)
CHOOSE(max_NaN, true, true)

#define FUSED(name, post) \
  static inline uint16_t half_##name(uint16_t a, uint16_t b, uint16_t c) { \
    double exact = __builtin_fma((double)of_half(a), (double)of_half(b), (double)of_half(c)); \
    return to_half(post); \
  } \
  uint16_t __superstep_ptx_##name##_f16(uint16_t a, uint16_t b, uint16_t c) { return half_##name(a, b, c); } \
  uint32_t __superstep_ptx_##name##_f16x2(uint32_t a, uint32_t b, uint32_t c) { \
    return both(half_##name(low(a), low(b), low(c)), half_##name(high(a), high(b), high(c))); \
  }
FUSED(fma_rn, exact)
FUSED(fma_rn_sat, saturate_double(exact))
FUSED(fma_rn_relu, exact != exact || exact > 0 ? exact : 0)

/* Comparisons: as a predicate, as 0 or 1.0, and as a mask. With a `u`, a NaN makes them true. */
#define COMPARE(name, expression) \
  static inline bool holds_##name(uint16_t left, uint16_t right) { \
    float a = of_half(left), b = of_half(right); \
    return expression; \
  } \
  bool __superstep_ptx_setp_##name##_f16(uint16_t a, uint16_t b) { return holds_##name(a, b); } \
  uint16_t __superstep_ptx_set_##name##_f16_f16(uint16_t a, uint16_t b) { return holds_##name(a, b) ? 0x3c00 : 0; } \
  uint32_t __superstep_ptx_set_##name##_f16x2_f16x2(uint32_t a, uint32_t b) { \
    return both(holds_##name(low(a), low(b)) ? 0x3c00 : 0, holds_##name(high(a), high(b)) ? 0x3c00 : 0); \
  } \
  uint32_t __superstep_ptx_set_##name##_u32_f16x2(uint32_t a, uint32_t b) { \
    return both(holds_##name(low(a), low(b)) ? 0xffff : 0, holds_##name(high(a), high(b)) ? 0xffff : 0); \
  }
COMPARE(eq, a == b)
COMPARE(ne, a < b || a > b)
COMPARE(lt, a < b)
COMPARE(le, a <= b)
COMPARE(gt, a > b)
COMPARE(ge, a >= b)
COMPARE(equ, !(a < b || a > b))
COMPARE(neu, a != b)
COMPARE(ltu, !(a >= b))
COMPARE(leu, !(a > b))
COMPARE(gtu, !(a <= b))
COMPARE(geu, !(a < b))
COMPARE(nan, a != a || b != b)

/* The first operand becomes the upper half. */
uint32_t __superstep_ptx_cvt_rn_f16x2_f32(float upper, float lower) { return both(to_half(lower), to_half(upper)); }
uint16_t __superstep_ptx_cvt_rn_f16_f64(double a) { return to_half(a); }

#define OF_INTEGER(name, type) \
  uint16_t __superstep_ptx_cvt_rn_f16_##name(type a) { return to_half((double)a); }
OF_INTEGER(s16, int16_t)
OF_INTEGER(u16, uint16_t)
OF_INTEGER(s32, int32_t)
OF_INTEGER(u32, uint32_t)

/* To an integer: rounded first, then kept within its range; NaN becomes 0. */
#define TO_INTEGER(rounding, function, name, type, least, most) \
  type __superstep_ptx_cvt_##rounding##_##name##_f16(uint16_t bits) { \
    float a = function(of_half(bits)); \
    return a != a ? 0 : a <= (float)least ? least : a >= (float)most ? most : (type)a; \
  }
#define TO_INTEGERS(rounding, function) \
  TO_INTEGER(rounding, function, s16, int16_t, INT16_MIN, INT16_MAX) \
  TO_INTEGER(rounding, function, u16, uint16_t, 0, UINT16_MAX) \
  TO_INTEGER(rounding, function, s32, int32_t, INT32_MIN, INT32_MAX) \
  TO_INTEGER(rounding, function, u32, uint32_t, 0u, UINT32_MAX) \
  uint16_t __superstep_ptx_cvt_##rounding##_f16_f16(uint16_t bits) { return to_half(function(of_half(bits))); }
TO_INTEGERS(rzi, __builtin_truncf)
TO_INTEGERS(rni, __builtin_rintf)
TO_INTEGERS(rmi, __builtin_floorf)
TO_INTEGERS(rpi, __builtin_ceilf)

/* Single precision in the middle of half-precision functions. */
float __superstep_ptx_fma_rn_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
float __superstep_ptx_mul_f32(float a, float b) { return a * b; }
#define APPROXIMATE(name) \
  float __superstep_nvvm_##name##_approx_ftz_f(float a); \
  float __superstep_ptx_##name##_approx_ftz_f32(float a) { return __superstep_nvvm_##name##_approx_ftz_f(a); }
float __superstep_nvvm_ex2_approx_ftz_f32(float a);
float __superstep_ptx_ex2_approx_ftz_f32(float a) { return __superstep_nvvm_ex2_approx_ftz_f32(a); }
APPROXIMATE(lg2)
APPROXIMATE(rsqrt)
APPROXIMATE(rcp)
APPROXIMATE(sqrt)
