/* Helpers for the bits of 16-bit floats: IEEE half precision and bfloat16. */
#ifndef SUPERSTEP_HALF_H
#define SUPERSTEP_HALF_H

#include "float.h"

#pragma STDC FP_CONTRACT OFF

static inline uint16_t bits_of_half(_Float16 value) {
  uint16_t bits;
  __builtin_memcpy(&bits, &value, 2);
  return bits;
}
static inline float half_to_float(uint16_t bits) {
  _Float16 value;
  __builtin_memcpy(&value, &bits, 2);
  return (float)value;
}

typedef uint16_t bits16;
static inline float bfloat_value(bits16 bits) { return float_from_bits((uint32_t)bits << 16); }
/* Rounds to nearest even, or towards zero. NaN becomes the canonical 0x7fff. */
static inline bits16 to_bfloat(float value, bool to_nearest) {
  uint32_t bits = float_bits(value);
  if (value != value)
    return 0x7fff;
  if (to_nearest)
    bits += 0x7fff + (bits >> 16 & 1);
  return (bits16)(bits >> 16);
}
static inline bits16 relu_bfloat(bits16 value) {
  float wide = bfloat_value(value);
  return wide != wide ? 0x7fff : wide > 0 ? value : 0;
}
/* Rounds to single precision ("round to odd"): lost bits set the last bit, so that double rounding is harmless. */
static inline float odd_float(double exact) {
  float rounded = (float)exact;
  if (rounded == rounded && (double)rounded != exact) {
    bool away = __builtin_fabs((double)rounded) > __builtin_fabs(exact);
    uint32_t bits = float_bits(rounded) - (away ? 1u : 0u);
    rounded = float_from_bits(bits | 1u);
  }
  return rounded;
}
/* Returns a * b + c in double precision. The product of two 8-bit significands is exact; bits that the sum loses set its last bit. */
static inline double odd_fma(double a, double b, double c) {
  double product = a * b, sum = product + c, part = sum - product, lost = (product - (sum - part)) + (c - part);
  uint64_t bits = double_bits(sum);
  if (!(lost < 0 || lost > 0) || sum - sum != 0 || bits & 1)
    return sum;
  return double_from_bits((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
static inline bits16 fma_bfloat(bits16 a, bits16 b, bits16 c) {
  return to_bfloat(odd_float(odd_fma(bfloat_value(a), bfloat_value(b), bfloat_value(c))), true);
}
static inline bits16 flush_bfloat(bits16 value) { return (value & 0x7f80) == 0 ? value & 0x8000 : value; }
static inline bits16 saturate_bfloat(bits16 value) {
  float wide = bfloat_value(value);
  return wide >= 1 ? 0x3f80 : wide > 0 ? value : 0;
}

/* Minimum and maximum as for float (see support_minmax.c), but on the bits, in sign-magnitude form. */
static inline int32_t ordered(uint16_t bits) { return bits & 0x8000 ? -(int32_t)(bits & 0x7fff) - 1 : bits; }
static inline uint16_t choose(uint16_t a, uint16_t b, uint16_t infinity, bool maximum, bool keep_nan, bool xor_sign) {
  bool nan_a = (a & 0x7fff) > infinity, nan_b = (b & 0x7fff) > infinity;
  if (nan_a || nan_b) {
    if (keep_nan || (nan_a && nan_b))
      return 0x7fff;
    uint16_t number = nan_a ? b : a;
    return xor_sign ? (uint16_t)((number & 0x7fff) | ((a ^ b) & 0x8000)) : number;
  }
  if (xor_sign) {
    uint16_t first = a & 0x7fff, second = b & 0x7fff;
    return (uint16_t)(((first > second) == maximum ? first : second) | ((a ^ b) & 0x8000));
  }
  return (ordered(a) > ordered(b)) == maximum ? a : b;
}

/* Rounds in the given mode, which also decides whether overflow yields infinity or the largest finite number. */
static inline uint16_t half_from_double(double value, enum Rounding rounding) {
  uint16_t nearest = bits_of_half((_Float16)value);
  if (value != value)
    return 0x7fff;
  double back = half_to_float(nearest);
  if (rounding == TO_NEAREST || back == value)
    return nearest;
  bool up = rounding == UPWARDS || (rounding == TOWARDS_ZERO && value < 0);
  if ((back > value) == up)
    return nearest;
  if ((nearest & 0x7fff) == 0)
    return up ? 0x0001 : 0x8001;
  return (uint16_t)((nearest >> 15 != 0) == up ? nearest - 1 : nearest + 1);
}
static inline bits16 bfloat_from_double(double value, enum Rounding rounding) {
  if (value != value)
    return 0x7fff;
  uint32_t bits = float_bits(odd_float(value)), rest = bits & 0xffff;
  bool negative = bits >> 31;
  if (rounding == TO_NEAREST)
    return to_bfloat(float_from_bits(bits), true);
  bool away = rounding == UPWARDS ? rest && !negative : rounding == DOWNWARDS && rest && negative;
  /* A finite number that overflowed in single precision is the largest finite float here. */
  return (bits16)((bits >> 16) + away);
}
/* Converts an integer to a double that rounds like the integer: bits that do not fit set the last bit. */
static inline double odd_double(uint64_t magnitude, bool negative) {
  int shift = magnitude >> 53 ? 11 - __builtin_clzll(magnitude) : 0;
  uint64_t significand = magnitude >> shift;
  significand |= significand << shift != magnitude;
  double value = (double)significand * (double)(1ull << shift);
  return negative ? -value : value;
}

#endif
