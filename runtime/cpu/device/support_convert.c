/* Conversions between number types, correctly rounded in every mode without changing the floating-point environment. */
#include "float.h"

#pragma STDC FP_CONTRACT OFF

/* Converts double to float: rounds to nearest, then steps back if that was the wrong direction. */
static inline float narrow(double value, enum Rounding rounding) {
  float nearest = (float)value;
  if (rounding == TO_NEAREST || !(nearest != (double)value) || value != value)
    return nearest;
  bool too_high = (double)nearest > value;
  bool want_up = rounding == UPWARDS || (rounding == TOWARDS_ZERO && value < 0);
  if (want_up && !too_high)
    return step_towards(nearest, true);
  if (!want_up && too_high)
    return step_towards(nearest, false);
  return nearest;
}

#define NARROW(mode, rounding) \
  float __superstep_nvvm_d2f_##mode(double value) { return narrow(value, rounding); } \
  float __superstep_nvvm_d2f_##mode##_ftz(double value) { return flush(narrow(value, rounding)); }
NARROW(rn, TO_NEAREST)
NARROW(rz, TOWARDS_ZERO)
NARROW(rm, DOWNWARDS)
NARROW(rp, UPWARDS)

static inline double to_integral(double value, enum Rounding rounding) {
  switch (rounding) {
  case TO_NEAREST:
    return __builtin_rint(value);
  case TOWARDS_ZERO:
    return __builtin_trunc(value);
  case DOWNWARDS:
    return __builtin_floor(value);
  default:
    return __builtin_ceil(value);
  }
}

/* Conversions to integers: values out of range become the nearest bound. NaN becomes 0 if a float is converted to
 * 32 bits, and an integer with only the highest bit set otherwise. */
static inline int32_t to_i32(double value) {
  return value != value ? 0 : value <= -0x1p31 ? INT32_MIN : value >= 0x1p31 ? INT32_MAX : (int32_t)value;
}
static inline uint32_t to_u32(double value) {
  return !(value > 0) ? 0 : value >= 0x1p32 ? UINT32_MAX : (uint32_t)value;
}
static inline int32_t double_to_i32(double value) { return value != value ? INT32_MIN : to_i32(value); }
static inline uint32_t double_to_u32(double value) { return value != value ? 1u << 31 : to_u32(value); }
static inline int64_t to_i64(double value) {
  return value != value ? INT64_MIN : value <= -0x1p63 ? INT64_MIN : value >= 0x1p63 ? INT64_MAX : (int64_t)value;
}
static inline uint64_t to_u64(double value) {
  return value != value ? 1ull << 63 : value <= 0 ? 0 : value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

#define TO_INTEGER(name, type, convert_double, convert, mode, rounding) \
  type __superstep_nvvm_d2##name##_##mode(double value) { return convert_double(to_integral(value, rounding)); } \
  type __superstep_nvvm_f2##name##_##mode(float value) { return convert(to_integral(value, rounding)); } \
  type __superstep_nvvm_f2##name##_##mode##_ftz(float value) { return convert(to_integral(flush(value), rounding)); }
#define TO_INTEGERS(mode, rounding) \
  TO_INTEGER(i, int32_t, double_to_i32, to_i32, mode, rounding) \
  TO_INTEGER(ui, uint32_t, double_to_u32, to_u32, mode, rounding) \
  TO_INTEGER(ll, int64_t, to_i64, to_i64, mode, rounding) \
  TO_INTEGER(ull, uint64_t, to_u64, to_u64, mode, rounding)
TO_INTEGERS(rn, TO_NEAREST)
TO_INTEGERS(rz, TOWARDS_ZERO)
TO_INTEGERS(rm, DOWNWARDS)
TO_INTEGERS(rp, UPWARDS)

/* Converts an integer: keeps `precision` bits of the magnitude and rounds off the rest. */
static inline double from_magnitude(uint64_t magnitude, bool negative, int precision, enum Rounding rounding) {
  double sign = negative ? -1.0 : 1.0;
  if (magnitude >> precision == 0)
    return sign * (double)(int64_t)magnitude;
  int shift = 64 - __builtin_clzll(magnitude) - precision;
  uint64_t significand = magnitude >> shift, rest = magnitude & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  bool up = rounding == TO_NEAREST   ? rest > half || (rest == half && (significand & 1))
            : rounding == UPWARDS    ? rest && !negative
            : rounding == DOWNWARDS ? rest && negative
                                    : false;
  return sign * (double)(int64_t)(significand + up) * double_from_bits((uint64_t)(1023 + shift) << 52);
}
static inline double from_signed(int64_t value, int precision, enum Rounding rounding) {
  return value < 0 ? from_magnitude(-(uint64_t)value, true, precision, rounding)
                   : from_magnitude((uint64_t)value, false, precision, rounding);
}

#define FROM_INTEGER(mode, rounding) \
  float __superstep_nvvm_i2f_##mode(int32_t value) { return (float)from_signed(value, 24, rounding); } \
  float __superstep_nvvm_ui2f_##mode(uint32_t value) { return (float)from_magnitude(value, false, 24, rounding); } \
  float __superstep_nvvm_ll2f_##mode(int64_t value) { return (float)from_signed(value, 24, rounding); } \
  float __superstep_nvvm_ull2f_##mode(uint64_t value) { return (float)from_magnitude(value, false, 24, rounding); } \
  double __superstep_nvvm_i2d_##mode(int32_t value) { return value; } \
  double __superstep_nvvm_ui2d_##mode(uint32_t value) { return value; } \
  double __superstep_nvvm_ll2d_##mode(int64_t value) { return from_signed(value, 53, rounding); } \
  double __superstep_nvvm_ull2d_##mode(uint64_t value) { return from_magnitude(value, false, 53, rounding); }
FROM_INTEGER(rn, TO_NEAREST)
FROM_INTEGER(rz, TOWARDS_ZERO)
FROM_INTEGER(rm, DOWNWARDS)
FROM_INTEGER(rp, UPWARDS)

int32_t __superstep_nvvm_d2i_lo(double value) { return (int32_t)(uint32_t)double_bits(value); }
int32_t __superstep_nvvm_d2i_hi(double value) { return (int32_t)(uint32_t)(double_bits(value) >> 32); }
double __superstep_nvvm_lohi_i2d(int32_t low, int32_t high) {
  return double_from_bits((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}
