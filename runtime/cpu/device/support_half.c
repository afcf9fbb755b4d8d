/* 16-bit floats: _Float16 and bfloat16. Results are computed in double and rounded once.
 *
 * Pairs (f16x2, bf16x2) are absent: x86's C calling convention has no such types, and CUDA's headers use inline PTX for them. */
#include "half.h"

typedef _Float16 half;

static inline uint16_t half_bits(half value) {
  uint16_t bits;
  __builtin_memcpy(&bits, &value, 2);
  return bits;
}
static inline half half_from_bits(uint16_t bits) {
  half value;
  __builtin_memcpy(&value, &bits, 2);
  return value;
}
static inline double half_value(half value) { return (double)value; }
static inline half flush_half(half value) {
  return (half_bits(value) & 0x7c00) == 0 ? half_from_bits(half_bits(value) & 0x8000) : value;
}
static inline half saturate_half(half value) {
  double wide = half_value(value);
  return wide >= 1 ? (half)1 : wide > 0 ? value : (half)0;
}
static inline half relu_half(half value) {
  double wide = half_value(value);
  return wide != wide ? half_from_bits(0x7fff) : wide > 0 ? value : (half)0;
}
static inline half fma_half(half a, half b, half c) {
  return (half)__builtin_fma(half_value(a), half_value(b), half_value(c));
}

/* Operations on bfloat16 use its bits: the compiler's conversions call functions that older support libraries lack. */
static inline uint16_t bfloat_bits(__bf16 value) {
  uint16_t bits;
  __builtin_memcpy(&bits, &value, 2);
  return bits;
}
/* The value is volatile, so that the optimiser does not turn a choice between bits into one between __bf16 values, which needs the
 * conversions. */
static inline __bf16 bfloat_from_bits(uint16_t bits) {
  volatile uint16_t opaque = bits;
  bits = opaque;
  __bf16 value;
  __builtin_memcpy(&value, &bits, 2);
  return value;
}
#define FMA(variant, pre_half, post_half) \
  half __superstep_nvvm_fma_rn_##variant##f16(half a, half b, half c) { \
    return post_half(fma_half(pre_half(a), pre_half(b), pre_half(c))); \
  }
#define SAME(value) (value)
#define FLUSH_RELU(value) relu_half(flush_half(value))
#define FLUSH_SATURATE(value) saturate_half(flush_half(value))
FMA(, SAME, SAME)
FMA(relu_, SAME, relu_half)
FMA(sat_, SAME, saturate_half)
FMA(ftz_, flush_half, flush_half)
FMA(ftz_relu_, flush_half, FLUSH_RELU)
FMA(ftz_sat_, flush_half, FLUSH_SATURATE)

#define FMA_BFLOAT(variant, pre, post) \
  __bf16 __superstep_nvvm_fma_rn_##variant##bf16(__bf16 a, __bf16 b, __bf16 c) { \
    return bfloat_from_bits(post(fma_bfloat(pre(bfloat_bits(a)), pre(bfloat_bits(b)), pre(bfloat_bits(c))))); \
  }
FMA_BFLOAT(, SAME, SAME)
FMA_BFLOAT(relu_, SAME, relu_bfloat)
FMA_BFLOAT(sat_, SAME, saturate_bfloat)
#define FLUSH_RELU_BFLOAT(value) relu_bfloat(flush_bfloat(value))
#define FLUSH_SATURATE_BFLOAT(value) saturate_bfloat(flush_bfloat(value))
FMA_BFLOAT(ftz_, flush_bfloat, flush_bfloat)
FMA_BFLOAT(ftz_relu_, flush_bfloat, FLUSH_RELU_BFLOAT)
FMA_BFLOAT(ftz_sat_, flush_bfloat, FLUSH_SATURATE_BFLOAT)

static inline half choose_half(half a, half b, bool maximum, bool keep_nan, bool xor_sign) {
  return half_from_bits(choose(half_bits(a), half_bits(b), 0x7c00, maximum, keep_nan, xor_sign));
}
static inline __bf16 choose_bfloat(__bf16 a, __bf16 b, bool maximum, bool keep_nan, bool xor_sign) {
  return bfloat_from_bits(choose(bfloat_bits(a), bfloat_bits(b), 0x7f80, maximum, keep_nan, xor_sign));
}

#define MIN_MAX(name, type, choose, pre, maximum, keep_nan, xor_sign) \
  type __superstep_nvvm_##name(type a, type b) { return choose(pre(a), pre(b), maximum, keep_nan, xor_sign); }
#define MIN_MAX_ALL(name, maximum) \
  MIN_MAX(name##_f16, half, choose_half, SAME, maximum, false, false) \
  MIN_MAX(name##_nan_f16, half, choose_half, SAME, maximum, true, false) \
  MIN_MAX(name##_xorsign_abs_f16, half, choose_half, SAME, maximum, false, true) \
  MIN_MAX(name##_nan_xorsign_abs_f16, half, choose_half, SAME, maximum, true, true) \
  MIN_MAX(name##_ftz_f16, half, choose_half, flush_half, maximum, false, false) \
  MIN_MAX(name##_ftz_nan_f16, half, choose_half, flush_half, maximum, true, false) \
  MIN_MAX(name##_ftz_xorsign_abs_f16, half, choose_half, flush_half, maximum, false, true) \
  MIN_MAX(name##_ftz_nan_xorsign_abs_f16, half, choose_half, flush_half, maximum, true, true) \
  MIN_MAX(name##_bf16, __bf16, choose_bfloat, SAME, maximum, false, false) \
  MIN_MAX(name##_nan_bf16, __bf16, choose_bfloat, SAME, maximum, true, false) \
  MIN_MAX(name##_xorsign_abs_bf16, __bf16, choose_bfloat, SAME, maximum, false, true) \
  MIN_MAX(name##_nan_xorsign_abs_bf16, __bf16, choose_bfloat, SAME, maximum, true, true)
MIN_MAX_ALL(fmin, false)
MIN_MAX_ALL(fmax, true)

half __superstep_nvvm_fabs_f16(half a) { return half_from_bits(half_bits(a) & 0x7fff); }
__bf16 __superstep_nvvm_fabs_bf16(__bf16 a) { return bfloat_from_bits(bfloat_bits(a) & 0x7fff); }
__bf16 __superstep_nvvm_neg_bf16(__bf16 a) { return bfloat_from_bits(bfloat_bits(a) ^ 0x8000); }

/* Converts float to half precision, rounding to nearest or towards zero. */
static inline half to_half(float value, bool to_nearest) {
  half nearest = (half)value;
  if (to_nearest || value != value || !(half_value(nearest) != (double)value))
    return nearest;
  bool away = __builtin_fabs(half_value(nearest)) > __builtin_fabsf(value);
  return away ? half_from_bits((uint16_t)(half_bits(nearest) - 1)) : nearest;
}
uint16_t __superstep_nvvm_f2h_rn(float value) { return half_bits((half)value); }
uint16_t __superstep_nvvm_f2h_rn_ftz(float value) { return half_bits((half)flush(value)); }
uint16_t __superstep_nvvm_bf2h_rn(__bf16 value) { return bfloat_bits(value); }
uint16_t __superstep_nvvm_bf2h_rn_ftz(__bf16 value) { return flush_bfloat(bfloat_bits(value)); }
#define FROM_FLOAT(mode, to_nearest) \
  half __superstep_nvvm_f2f16_##mode(float a) { return to_half(a, to_nearest); } \
  half __superstep_nvvm_f2f16_##mode##_relu(float a) { return relu_half(to_half(a, to_nearest)); } \
  __bf16 __superstep_nvvm_f2bf16_##mode(float a) { return bfloat_from_bits(to_bfloat(a, to_nearest)); } \
  __bf16 __superstep_nvvm_f2bf16_##mode##_relu(float a) { return bfloat_from_bits(relu_bfloat(to_bfloat(a, to_nearest))); }
FROM_FLOAT(rn, true)
FROM_FLOAT(rz, false)
