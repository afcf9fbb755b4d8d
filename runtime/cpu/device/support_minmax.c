/* Minimum, maximum, absolute value, rounding to integral values and saturation for float and double. */
#include "float.h"

/* A number wins over a NaN; -0 is less than +0. */
static inline float minimum(float a, float b) {
  if (a != a)
    return b;
  if (b != b)
    return a;
  if (a == b)
    return float_from_bits(float_bits(a) | float_bits(b));
  return a < b ? a : b;
}
static inline float maximum(float a, float b) {
  if (a != a)
    return b;
  if (b != b)
    return a;
  if (a == b)
    return float_from_bits(float_bits(a) & float_bits(b));
  return a > b ? a : b;
}
static inline float minimum_nan(float a, float b) { return a != a || b != b ? __builtin_nanf("") : minimum(a, b); }
static inline float maximum_nan(float a, float b) { return a != a || b != b ? __builtin_nanf("") : maximum(a, b); }

/* xorsign.abs: chooses between magnitudes; the sign is the exclusive or of the signs. */
static inline float with_xor_sign(float magnitude, float a, float b) {
  return float_from_bits((float_bits(magnitude) & 0x7fffffffu) | ((float_bits(a) ^ float_bits(b)) & 0x80000000u));
}

#define MIN_MAX(name, choose, choose_nan) \
  float __superstep_nvvm_##name##_f(float a, float b) { return choose(a, b); } \
  float __superstep_nvvm_##name##_ftz_f(float a, float b) { return choose(flush(a), flush(b)); } \
  float __superstep_nvvm_##name##_nan_f(float a, float b) { return choose_nan(a, b); } \
  float __superstep_nvvm_##name##_ftz_nan_f(float a, float b) { return choose_nan(flush(a), flush(b)); } \
  float __superstep_nvvm_##name##_xorsign_abs_f(float a, float b) { \
    return with_xor_sign(choose(__builtin_fabsf(a), __builtin_fabsf(b)), a, b); \
  } \
  float __superstep_nvvm_##name##_ftz_xorsign_abs_f(float a, float b) { \
    return with_xor_sign(choose(__builtin_fabsf(flush(a)), __builtin_fabsf(flush(b))), a, b); \
  } \
  float __superstep_nvvm_##name##_nan_xorsign_abs_f(float a, float b) { \
    float chosen = choose_nan(__builtin_fabsf(a), __builtin_fabsf(b)); \
    return chosen != chosen ? chosen : with_xor_sign(chosen, a, b); \
  } \
  float __superstep_nvvm_##name##_ftz_nan_xorsign_abs_f(float a, float b) { \
    float chosen = choose_nan(__builtin_fabsf(flush(a)), __builtin_fabsf(flush(b))); \
    return chosen != chosen ? chosen : with_xor_sign(chosen, a, b); \
  }
MIN_MAX(fmin, minimum, minimum_nan)
MIN_MAX(fmax, maximum, maximum_nan)

double __superstep_nvvm_fmin_d(double a, double b) {
  if (a != a)
    return b;
  if (b != b)
    return a;
  if (a == b)
    return double_from_bits(double_bits(a) | double_bits(b));
  return a < b ? a : b;
}
double __superstep_nvvm_fmax_d(double a, double b) {
  if (a != a)
    return b;
  if (b != b)
    return a;
  if (a == b)
    return double_from_bits(double_bits(a) & double_bits(b));
  return a > b ? a : b;
}

float __superstep_nvvm_fabs_f32(float a) { return __builtin_fabsf(a); }
float __superstep_nvvm_fabs_ftz_f32(float a) { return __builtin_fabsf(flush(a)); }
double __superstep_nvvm_fabs_f64(double a) { return __builtin_fabs(a); }

#define INTEGRAL(name, function, function_double) \
  float __superstep_nvvm_##name##_f(float a) { return function(a); } \
  float __superstep_nvvm_##name##_ftz_f(float a) { return function(flush(a)); } \
  double __superstep_nvvm_##name##_d(double a) { return function_double(a); }
INTEGRAL(floor, __builtin_floorf, __builtin_floor)
INTEGRAL(ceil, __builtin_ceilf, __builtin_ceil)
INTEGRAL(trunc, __builtin_truncf, __builtin_trunc)
INTEGRAL(round, __builtin_rintf, __builtin_rint) /* cvt.rni: to nearest even */

float __superstep_nvvm_saturate_f(float a) { return saturate(a); }
float __superstep_nvvm_saturate_ftz_f(float a) { return saturate(flush(a)); }
double __superstep_nvvm_saturate_d(double a) { return saturate_double(a); }

float __superstep_nvvm_move_float(float a) { return a; }
double __superstep_nvvm_move_double(double a) { return a; }
int16_t __superstep_nvvm_move_i16(int16_t a) { return a; }
int32_t __superstep_nvvm_move_i32(int32_t a) { return a; }
int64_t __superstep_nvvm_move_i64(int64_t a) { return a; }
