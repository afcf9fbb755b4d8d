/* Sums, products, quotients, fused multiply-adds and roots in the four rounding modes, with flushing and saturation.
 *
 * Round-to-nearest is plain arithmetic. For the other modes, the rounding bits of MXCSR are changed around each operation;
 * FENV_ACCESS keeps the compiler from moving that operation. Fused multiply-adds in single precision, which `expf` needs,
 * leave MXCSR unchanged. */
#include "elementary.h"

#pragma STDC FP_CONTRACT OFF

#define VARIANTS_FLOAT(name, mode, parameters, flushed, call) \
  float __superstep_nvvm_##name##_##mode##_f parameters { return call; } \
  float __superstep_nvvm_##name##_##mode##_ftz_f parameters { \
    flushed; \
    return flush(call); \
  }
#define VARIANTS_SATURATED(name, mode, parameters, flushed, call) \
  float __superstep_nvvm_##name##_##mode##_f parameters { return call; } \
  float __superstep_nvvm_##name##_##mode##_ftz_f parameters { \
    flushed; \
    return flush(call); \
  } \
  float __superstep_nvvm_##name##_##mode##_sat_f parameters { return saturate(call); } \
  float __superstep_nvvm_##name##_##mode##_ftz_sat_f parameters { \
    flushed; \
    return saturate(flush(call)); \
  }

#define ONE_F (float a)
#define TWO_F (float a, float b)
#define THREE_F (float a, float b, float c)
#define FLUSH_ONE a = flush(a)
#define FLUSH_TWO a = flush(a), b = flush(b)
#define FLUSH_THREE a = flush(a), b = flush(b), c = flush(c)

VARIANTS_SATURATED(add, rn, TWO_F, FLUSH_TWO, a + b)
VARIANTS_FLOAT(mul, rn, TWO_F, FLUSH_TWO, a *b)
VARIANTS_FLOAT(div, rn, TWO_F, FLUSH_TWO, a / b)
VARIANTS_SATURATED(fma, rn, THREE_F, FLUSH_THREE, __builtin_fmaf(a, b, c))
VARIANTS_SATURATED(fma, rz, THREE_F, FLUSH_THREE, fused(a, b, c, MXCSR_TOWARDS_ZERO))
VARIANTS_SATURATED(fma, rm, THREE_F, FLUSH_THREE, fused(a, b, c, MXCSR_DOWNWARDS))
VARIANTS_SATURATED(fma, rp, THREE_F, FLUSH_THREE, fused(a, b, c, MXCSR_UPWARDS))
VARIANTS_FLOAT(sqrt, rn, ONE_F, FLUSH_ONE, __builtin_sqrtf(a))
VARIANTS_FLOAT(rcp, rn, ONE_F, FLUSH_ONE, 1.0f / a)
float __superstep_nvvm_sqrt_f(float a) { return __builtin_sqrtf(a); }

double __superstep_nvvm_add_rn_d(double a, double b) { return a + b; }
double __superstep_nvvm_mul_rn_d(double a, double b) { return a * b; }
double __superstep_nvvm_div_rn_d(double a, double b) { return a / b; }
double __superstep_nvvm_fma_rn_d(double a, double b, double c) { return __builtin_fma(a, b, c); }
double __superstep_nvvm_sqrt_rn_d(double a) { return __builtin_sqrt(a); }
double __superstep_nvvm_rcp_rn_d(double a) { return 1.0 / a; }

#pragma STDC FENV_ACCESS ON

/* Not inlined, since the optimiser would move the arithmetic past the change of the rounding mode, or constant-fold it. */
#define ROUNDED(name, mode, bits, type, parameters, expression) \
  static __attribute__((noinline)) type name##_##mode parameters { \
    unsigned saved = __builtin_ia32_stmxcsr(); \
    __builtin_ia32_ldmxcsr((saved & ~(unsigned)MXCSR_TOWARDS_ZERO) | bits); \
    type result = expression; \
    __builtin_ia32_ldmxcsr(saved); \
    return result; \
  }

#define DIRECTED(mode, bits) \
  ROUNDED(add_f, mode, bits, float, TWO_F, a + b) \
  ROUNDED(mul_f, mode, bits, float, TWO_F, a *b) \
  ROUNDED(div_f, mode, bits, float, TWO_F, a / b) \
  ROUNDED(sqrt_f, mode, bits, float, ONE_F, __builtin_sqrtf(a)) \
  ROUNDED(add_d, mode, bits, double, (double a, double b), a + b) \
  ROUNDED(mul_d, mode, bits, double, (double a, double b), a *b) \
  ROUNDED(div_d, mode, bits, double, (double a, double b), a / b) \
  ROUNDED(fma_d, mode, bits, double, (double a, double b, double c), __builtin_fma(a, b, c)) \
  ROUNDED(sqrt_d, mode, bits, double, (double a), __builtin_sqrt(a)) \
  VARIANTS_SATURATED(add, mode, TWO_F, FLUSH_TWO, add_f_##mode(a, b)) \
  VARIANTS_FLOAT(mul, mode, TWO_F, FLUSH_TWO, mul_f_##mode(a, b)) \
  VARIANTS_FLOAT(div, mode, TWO_F, FLUSH_TWO, div_f_##mode(a, b)) \
  VARIANTS_FLOAT(sqrt, mode, ONE_F, FLUSH_ONE, sqrt_f_##mode(a)) \
  VARIANTS_FLOAT(rcp, mode, ONE_F, FLUSH_ONE, div_f_##mode(1.0f, a)) \
  double __superstep_nvvm_add_##mode##_d(double a, double b) { return add_d_##mode(a, b); } \
  double __superstep_nvvm_mul_##mode##_d(double a, double b) { return mul_d_##mode(a, b); } \
  double __superstep_nvvm_div_##mode##_d(double a, double b) { return div_d_##mode(a, b); } \
  double __superstep_nvvm_fma_##mode##_d(double a, double b, double c) { return fma_d_##mode(a, b, c); } \
  double __superstep_nvvm_sqrt_##mode##_d(double a) { return sqrt_d_##mode(a); } \
  double __superstep_nvvm_rcp_##mode##_d(double a) { return div_d_##mode(1.0, a); }

DIRECTED(rz, MXCSR_TOWARDS_ZERO)
DIRECTED(rm, MXCSR_DOWNWARDS)
DIRECTED(rp, MXCSR_UPWARDS)
