/* PTX instructions on the bits of 16-bit floats: half precision and bfloat16. The caller splits pairs. Results are computed in float, or in
 * double for bfloat16's fma, so that double rounding is harmless. */
#include "elementary.h"
#include "half.h"

#include <math.h>

#define HALF(name, arguments, expression) \
  uint16_t __superstep_ptx_##name##_f16 arguments { return expression; }
#define BFLOAT(name, arguments, expression) \
  uint16_t __superstep_ptx_##name##_bf16 arguments { return expression; }
#define ONE (uint16_t a)
#define TWO (uint16_t a, uint16_t b)
#define THREE (uint16_t a, uint16_t b, uint16_t c)

static inline uint16_t to_half(float value) { return value != value ? 0x7fff : bits_of_half((_Float16)value); }
static inline bits16 nearest_bfloat(float value) { return to_bfloat(value, true); }
static inline uint16_t flush_half(uint16_t a) { return (a & 0x7c00) == 0 ? a & 0x8000 : a; }
static inline uint16_t relu_half(uint16_t a) { return (a & 0x7fff) > 0x7c00 ? 0x7fff : a & 0x8000 ? 0 : a; }
static inline uint16_t saturate_half(uint16_t a) {
  float wide = half_to_float(a);
  return wide >= 1 ? 0x3c00 : wide > 0 ? a : 0;
}
/* The product is exact in float. Bits that the sum loses set its last bit, so that double rounding is harmless. */
static inline uint16_t fma_half(uint16_t a, uint16_t b, uint16_t c) {
  float product = half_to_float(a) * half_to_float(b), addend = half_to_float(c), sum = product + addend, part = sum - product;
  float lost = (product - (sum - part)) + (addend - part);
  uint32_t bits = float_bits(sum), nudged = (lost > 0) == (sum > 0) ? bits + 1 : bits - 1;
  bool inexact = (lost < 0 || lost > 0) && sum - sum == 0 && !(bits & 1);
  return to_half(float_from_bits(inexact ? nudged : bits));
}

HALF(neg, ONE, a ^ 0x8000)
HALF(abs, ONE, a & 0x7fff)
BFLOAT(neg, ONE, a ^ 0x8000)
BFLOAT(abs, ONE, a & 0x7fff)

#define ARITHMETIC(name, operator) \
  HALF(name, TWO, to_half(half_to_float(a) operator half_to_float(b))) \
  HALF(name##_sat, TWO, saturate_half(to_half(half_to_float(a) operator half_to_float(b)))) \
  BFLOAT(name, TWO, nearest_bfloat(bfloat_value(a) operator bfloat_value(b))) \
  BFLOAT(name##_sat, TWO, saturate_bfloat(nearest_bfloat(bfloat_value(a) operator bfloat_value(b))))
ARITHMETIC(add, +)
ARITHMETIC(sub, -)
ARITHMETIC(mul, *)

HALF(fma, THREE, fma_half(a, b, c))
HALF(fma_sat, THREE, saturate_half(fma_half(a, b, c)))
HALF(fma_relu, THREE, relu_half(fma_half(a, b, c)))
BFLOAT(fma, THREE, fma_bfloat(a, b, c))
BFLOAT(fma_sat, THREE, saturate_bfloat(fma_bfloat(a, b, c)))
BFLOAT(fma_relu, THREE, relu_bfloat(fma_bfloat(a, b, c)))

#define CHOOSE(name, maximum, keep_nan, xor_sign) \
  HALF(name, TWO, choose(a, b, 0x7c00, maximum, keep_nan, xor_sign)) \
  BFLOAT(name, TWO, choose(a, b, 0x7f80, maximum, keep_nan, xor_sign))
#define CHOICES(name, maximum) \
  CHOOSE(name, maximum, false, false) \
  CHOOSE(name##_NaN, maximum, true, false) \
  CHOOSE(name##_xorsign_abs, maximum, false, true) \
  CHOOSE(name##_NaN_xorsign_abs, maximum, true, true)
CHOICES(min, false)
CHOICES(max, true)

HALF(ex2, ONE, to_half(power_of_two(half_to_float(a))))
BFLOAT(ex2, ONE, flush_bfloat(nearest_bfloat(power_of_two(bfloat_value(flush_bfloat(a))))))
HALF(tanh, ONE, to_half(tanhf(half_to_float(a))))
BFLOAT(tanh, ONE, nearest_bfloat(tanhf(bfloat_value(a))))

HALF(flush, ONE, flush_half(a))
BFLOAT(flush, ONE, flush_bfloat(a))
HALF(relu, ONE, relu_half(a))
BFLOAT(relu, ONE, relu_bfloat(a))
HALF(saturate, ONE, saturate_half(a))
BFLOAT(saturate, ONE, saturate_bfloat(a))

/* Conversions from double, which can represent every other floating-point type, and from integers. */
#define FROM_WIDE(name, function) \
  uint16_t __superstep_ptx_##name##_of_f64(double value, enum Rounding rounding) { return function(value, rounding); } \
  uint16_t __superstep_ptx_##name##_of_u64(uint64_t value, enum Rounding rounding) { \
    return function(odd_double(value, false), rounding); \
  } \
  uint16_t __superstep_ptx_##name##_of_s64(int64_t value, enum Rounding rounding) { \
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value; \
    return function(odd_double(magnitude, value < 0), rounding); \
  }
FROM_WIDE(f16, half_from_double)
FROM_WIDE(bf16, bfloat_from_double)
