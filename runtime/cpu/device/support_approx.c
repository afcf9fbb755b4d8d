/* The approximate functions of the special function unit. They are at least as accurate as a GPU's, but can differ in the last bits, which
 * the PTX manual does not specify. */
#include "elementary.h"

#include <math.h>

#define APPROX(name, expression) \
  float __superstep_nvvm_##name##_approx_f(float a) { return expression; } \
  float __superstep_nvvm_##name##_approx_ftz_f(float a) { \
    a = flush(a); \
    return flush(expression); \
  }
APPROX(lg2, binary_logarithm(a))
APPROX(sin, sinf(a))
APPROX(cos, cosf(a))
APPROX(sqrt, __builtin_sqrtf(a))
APPROX(rsqrt, (float)(1.0 / __builtin_sqrt((double)a)))

float __superstep_nvvm_ex2_approx_f32(float a) { return power_of_two(a); }
float __superstep_nvvm_ex2_approx_ftz_f32(float a) { return flush(power_of_two(flush(a))); }
_Float16 __superstep_nvvm_ex2_approx_f16(_Float16 a) { return (_Float16)power_of_two((float)a); }
double __superstep_nvvm_lg2_approx_d(double a) { return log2(a); }
double __superstep_nvvm_rsqrt_approx_d(double a) { return 1.0 / __builtin_sqrt(a); }
double __superstep_nvvm_rsqrt_approx_ftz_d(double a) {
  return flush_double(1.0 / __builtin_sqrt(flush_double(a)));
}

/* rcp.approx.ftz.f64 looks only at the upper half of its operand and leaves the lower half of the result zero. */
double __superstep_nvvm_rcp_approx_ftz_d(double a) {
  double upper = double_from_bits(double_bits(flush_double(a)) & 0xffffffff00000000u);
  double result = 1.0 / upper;
  if (result != result)
    return result;
  return flush_double(double_from_bits(double_bits(result) & 0xffffffff00000000u));
}

float __superstep_nvvm_rcp_approx_ftz_f(float a) { return flush(1.0f / flush(a)); }
float __superstep_nvvm_div_approx_f(float a, float b) { return a / b; }
float __superstep_nvvm_div_approx_ftz_f(float a, float b) { return flush(flush(a) / flush(b)); }
float __superstep_nvvm_div_full(float a, float b) { return a / b; }
float __superstep_nvvm_div_full_ftz(float a, float b) { return flush(flush(a) / flush(b)); }
