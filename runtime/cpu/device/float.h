/* Helpers for floating-point values. */
#ifndef SUPERSTEP_FLOAT_H
#define SUPERSTEP_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

/* Flushes a denormal to a zero of the same sign. */
static inline float flush(float value) {
  return __builtin_fabsf(value) < 0x1p-126f ? __builtin_copysignf(0.0f, value) : value;
}
static inline double flush_double(double value) {
  return __builtin_fabs(value) < 0x1p-1022 ? __builtin_copysign(0.0, value) : value;
}
/* Saturates to [0, 1]; NaN becomes +0. */
static inline float saturate(float value) { return value >= 1.0f ? 1.0f : value > 0.0f ? value : 0.0f; }
static inline double saturate_double(double value) { return value >= 1.0 ? 1.0 : value > 0.0 ? value : 0.0; }

static inline float float_from_bits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
static inline uint32_t float_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}
static inline double double_from_bits(uint64_t bits) {
  double value;
  __builtin_memcpy(&value, &bits, 8);
  return value;
}
static inline uint64_t double_bits(double value) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, 8);
  return bits;
}

/* Returns the next float above or below `value`, which must not be NaN. */
static inline float step_towards(float value, bool up) {
  uint32_t bits = float_bits(value);
  if ((bits << 1) == 0)
    return float_from_bits(up ? 1u : 0x80000001u);
  return float_from_bits(((bits >> 31) != 0) == up ? bits - 1 : bits + 1);
}

enum Rounding { TO_NEAREST, TOWARDS_ZERO, DOWNWARDS, UPWARDS };

/* Bits 13 and 14 of MXCSR select SSE's rounding mode. Code that sets them needs `#pragma STDC FENV_ACCESS ON`. */
enum { MXCSR_DOWNWARDS = 0x2000, MXCSR_UPWARDS = 0x4000, MXCSR_TOWARDS_ZERO = 0x6000 };

#endif
