/* Elementary functions without branches, tables or calls, so that LLVM can vectorise the loops that they are inlined into.
 *
 * They compute in double precision with unfused sums and products, so each vector lane gives the same bits as scalar code on
 * every processor. The error is at most 0.501 ulp of a float (`runtime/cpu/tests/device_support.rs`). */
#ifndef SUPERSTEP_ELEMENTARY_H
#define SUPERSTEP_ELEMENTARY_H

#include "float.h"

#pragma STDC FP_CONTRACT OFF

#define LN2 0x1.62e42fefa39efp-1

/* Returns 2 to the power of `value`. */
static inline float power_of_two(float value) {
  /* Beyond these bounds, results overflow or are zero. */
  double x = value < -200.0f ? -200.0 : value > 200.0f ? 200.0 : (double)value;
  /* The sum has no bits for a fraction: its lowest bits are the nearest integer. They are 0 for a NaN that was converted from a float. */
  double shifted = x + 0x1.8p52;
  double t = (x - (shifted - 0x1.8p52)) * LN2;
  /* e to the power of t, where |t| is at most ln(2) / 2. */
  double sum = 1.0 + t * (1.0 / 9);
  sum = 1.0 + t * (1.0 / 8) * sum;
  sum = 1.0 + t * (1.0 / 7) * sum;
  sum = 1.0 + t * (1.0 / 6) * sum;
  sum = 1.0 + t * (1.0 / 5) * sum;
  sum = 1.0 + t * (1.0 / 4) * sum;
  sum = 1.0 + t * (1.0 / 3) * sum;
  sum = 1.0 + t * (1.0 / 2) * sum;
  sum = 1.0 + t * sum;
  return (float)double_from_bits(double_bits(sum) + (double_bits(shifted) << 52));
}

/* Returns the base-2 logarithm. */
static inline float binary_logarithm(float value) {
  /* In double precision, the number is normal: 2 to the power of `exponent` times a number between sqrt(1/2) and sqrt(2). */
  uint64_t bits = double_bits((double)value);
  int32_t exponent = (int32_t)((bits >> 32) - 0x3fe6a09e) >> 20;
  double m = double_from_bits(bits - ((uint64_t)(int64_t)exponent << 52));
  /* log(m) is 2 artanh(s). */
  double s = (m - 1.0) / (m + 1.0), z = s * s;
  double sum = 1.0 / 13;
  sum = 1.0 / 11 + z * sum;
  sum = 1.0 / 9 + z * sum;
  sum = 1.0 / 7 + z * sum;
  sum = 1.0 / 5 + z * sum;
  sum = 1.0 / 3 + z * sum;
  sum = 1.0 + z * sum;
  float result = (float)((double)exponent + s * sum * (2.0 / LN2));
  float beyond = value == 0.0f ? -__builtin_inff() : __builtin_nanf("");
  float positive = value == __builtin_inff() ? value : result;
  return value > 0.0f ? positive : beyond;
}

/* Returns a * b + c, rounded once in MXCSR mode `rounding`. In double precision, the product is exact, and so is the sum plus its
 * error. */
static inline float fused(float a, float b, float c, uint32_t rounding) {
  double product = (double)a * b, sum = product + c;
  double part = sum - product, lost = (product - (sum - part)) + (c - part);
  float nearest = (float)sum;
  bool is_above = nearest > sum || (nearest == sum && lost < 0.0);
  bool is_below = nearest < sum || (nearest == sum && lost > 0.0);
  bool is_negative = sum < 0.0;
  bool down = is_above && (rounding == MXCSR_DOWNWARDS || (rounding == MXCSR_TOWARDS_ZERO && !is_negative));
  bool up = is_below && (rounding == MXCSR_UPWARDS || (rounding == MXCSR_TOWARDS_ZERO && is_negative));
  uint32_t bits = float_bits(nearest), sign = bits >> 31;
  uint32_t stepped = bits << 1 == 0 ? (down ? 0x80000001u : 1u) : (sign != 0) == up ? bits - 1 : bits + 1;
  /* If the operands cancel out, the resulting zero is negative when rounding downwards. */
  bool cancels = sum == 0.0 && rounding == MXCSR_DOWNWARDS && (double_bits(product) | float_bits(c)) != 0;
  uint32_t rounded = cancels ? 0x80000000u : bits;
  return float_from_bits(down || up ? stepped : rounded);
}

#endif
