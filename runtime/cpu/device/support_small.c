/* Conversions to and from pairs of 8-bit floats (e4m3, e5m2), and to tf32. */
#include "half.h"

/* Rounds to nearest even and saturates at the largest finite number. */
static inline uint8_t to_small(double value, int mantissa_bits, int bias, uint8_t largest) {
  uint8_t sign = (uint8_t)(double_bits(value) >> 63 << 7);
  double magnitude = __builtin_fabs(value);
  if (value != value)
    return 0x7f;
  int exponent = (int)(double_bits(magnitude) >> 52) - 1023;
  if (exponent < 1 - bias)
    exponent = 1 - bias;
  /* Express the magnitude in units in the last place; a unit is a power of two. */
  double unit = double_from_bits((uint64_t)(1023 + exponent - mantissa_bits) << 52);
  double count = __builtin_rint(magnitude / unit);
  if (!(count < 1 << (mantissa_bits + 2)))
    return sign | largest;
  /* The leading bit of a normal number increments the exponent. */
  uint32_t bits = (uint32_t)(exponent + bias - 1) << mantissa_bits;
  bits += (uint32_t)count;
  return sign | (bits > largest ? largest : (uint8_t)bits);
}
static inline uint8_t to_e4m3(double value) { return to_small(value, 3, 7, 0x7e); }
static inline uint8_t to_e5m2(double value) { return to_small(value, 2, 15, 0x7b); }

static inline uint16_t from_e5m2(uint8_t bits) { return (bits & 0x7f) > 0x7c ? 0x7fff : (uint16_t)(bits << 8); }
static inline uint16_t from_e4m3(uint8_t bits) {
  uint32_t exponent = bits >> 3 & 15, mantissa = bits & 7;
  if ((bits & 0x7f) == 0x7f)
    return 0x7fff;
  float value = exponent ? (float)(8 + mantissa) * float_from_bits((127 + exponent - 10) << 23) : (float)mantissa * 0x1p-9f;
  return (uint16_t)(bits_of_half((_Float16)value) | (bits & 0x80) << 8);
}

#define SMALL(name) \
  uint16_t __superstep_ptx_cvt_rn_satfinite_##name##x2_f32(float upper, float lower) { \
    return (uint16_t)(to_##name(upper) << 8 | to_##name(lower)); \
  } \
  uint16_t __superstep_ptx_cvt_rn_satfinite_##name##x2_f16x2(uint32_t pair) { \
    return (uint16_t)(to_##name(half_to_float((uint16_t)(pair >> 16))) << 8 | to_##name(half_to_float((uint16_t)pair))); \
  } \
  uint32_t __superstep_ptx_cvt_rn_f16x2_##name##x2(uint16_t pair) { \
    return (uint32_t)from_##name((uint8_t)(pair >> 8)) << 16 | from_##name((uint8_t)pair); \
  }
SMALL(e4m3)
SMALL(e5m2)

/* Rounds to nearest, ties away from zero. The result keeps 10 bits of the mantissa, even for a NaN. */
uint32_t __superstep_ptx_cvt_rna_tf32_f32(float value) {
  uint32_t bits = float_bits(value);
  return ((bits & 0x7f800000) == 0x7f800000 ? bits : bits + 0x1000) & ~0x1fffu;
}
