/* Integer operations that PTX has and C lacks. */
#include <stdbool.h>
#include <stdint.h>

int16_t __superstep_nvvm_mulhi_s(int16_t a, int16_t b) { return (int16_t)(((int32_t)a * b) >> 16); }
uint16_t __superstep_nvvm_mulhi_us(uint16_t a, uint16_t b) { return (uint16_t)(((uint32_t)a * b) >> 16); }
int32_t __superstep_nvvm_mulhi_i(int32_t a, int32_t b) { return (int32_t)(((int64_t)a * b) >> 32); }
uint32_t __superstep_nvvm_mulhi_ui(uint32_t a, uint32_t b) { return (uint32_t)(((uint64_t)a * b) >> 32); }
int64_t __superstep_nvvm_mulhi_ll(int64_t a, int64_t b) { return (int64_t)(((__int128)a * b) >> 64); }
uint64_t __superstep_nvvm_mulhi_ull(uint64_t a, uint64_t b) { return (uint64_t)(((unsigned __int128)a * b) >> 64); }

static inline int32_t signed24(int32_t a) { return (int32_t)((uint32_t)a << 8) >> 8; }
int32_t __superstep_nvvm_mul24_i(int32_t a, int32_t b) { return (int32_t)((int64_t)signed24(a) * signed24(b)); }
uint32_t __superstep_nvvm_mul24_ui(uint32_t a, uint32_t b) { return (a & 0xffffffu) * (b & 0xffffffu); }

/* Sum of absolute differences: c + |a - b|. */
#define SAD(name, type, unsigned_type) \
  type __superstep_nvvm_sad_##name(type a, type b, type c) { \
    return (type)((unsigned_type)c + (a < b ? (unsigned_type)b - (unsigned_type)a : (unsigned_type)a - (unsigned_type)b)); \
  }
SAD(s, int16_t, uint16_t)
SAD(us, uint16_t, uint16_t)
SAD(i, int32_t, uint32_t)
SAD(ui, uint32_t, uint32_t)
SAD(ll, int64_t, uint64_t)
SAD(ull, uint64_t, uint64_t)

static inline uint32_t byte_of(uint64_t bytes, uint32_t index) { return (uint32_t)(bytes >> (8 * (index & 7))) & 0xff; }

/* Each nibble of the selector picks one of the eight bytes of {b, a}; its top bit replicates that byte's sign instead. */
uint32_t __superstep_nvvm_prmt(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = (uint64_t)b << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t nibble = selector >> (4 * i) & 15, byte = byte_of(bytes, nibble);
    if (nibble & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

static inline uint32_t pick4(uint64_t bytes, uint32_t i0, uint32_t i1, uint32_t i2, uint32_t i3) {
  return byte_of(bytes, i0) | byte_of(bytes, i1) << 8 | byte_of(bytes, i2) << 16 | byte_of(bytes, i3) << 24;
}
uint32_t __superstep_nvvm_prmt_f4e(uint32_t a, uint32_t b, uint32_t s) {
  s &= 3;
  return pick4((uint64_t)b << 32 | a, s, s + 1, s + 2, s + 3);
}
uint32_t __superstep_nvvm_prmt_b4e(uint32_t a, uint32_t b, uint32_t s) {
  s &= 3;
  return pick4((uint64_t)b << 32 | a, s, s + 7, s + 6, s + 5);
}
uint32_t __superstep_nvvm_prmt_rc8(uint32_t a, uint32_t s) {
  s &= 3;
  return pick4(a, s, s, s, s);
}
uint32_t __superstep_nvvm_prmt_ecl(uint32_t a, uint32_t s) {
  s &= 3;
  return s == 0   ? pick4(a, 0, 1, 2, 3)
         : s == 1 ? pick4(a, 1, 1, 2, 3)
         : s == 2 ? pick4(a, 2, 2, 2, 3)
                  : pick4(a, 3, 3, 3, 3);
}
uint32_t __superstep_nvvm_prmt_ecr(uint32_t a, uint32_t s) {
  s &= 3;
  return s == 0   ? pick4(a, 0, 0, 0, 0)
         : s == 1 ? pick4(a, 0, 1, 1, 1)
         : s == 2 ? pick4(a, 0, 1, 2, 2)
                  : pick4(a, 0, 1, 2, 3);
}
uint32_t __superstep_nvvm_prmt_rc16(uint32_t a, uint32_t s) {
  return s & 1 ? pick4(a, 2, 3, 2, 3) : pick4(a, 0, 1, 0, 1);
}

/* Finds the n-th set bit from `base` upwards, or downwards if n is negative; tests `base` itself if n is 0. Returns all ones if there is
 * none. */
uint32_t __superstep_nvvm_fns(uint32_t mask, uint32_t base, int32_t n) {
  if (n == 0)
    return mask >> (base & 31) & 1 ? base : ~0u;
  int step = n > 0 ? 1 : -1, left = n > 0 ? n : -n;
  for (int64_t position = base; position >= 0 && position < 32; position += step)
    if ((mask >> position & 1) && --left == 0)
      return (uint32_t)position;
  return ~0u;
}

/* flo: position of the most significant bit that differs from the sign (flo.s) or is set (flo.u); all ones if there is none.
 * With `shift_amount`, the position counts from the top. */
static inline uint32_t find_leading(uint64_t value, uint32_t bits, bool shift_amount) {
  if (value == 0)
    return ~0u;
  uint32_t position = 63 - (uint32_t)__builtin_clzll(value);
  return shift_amount ? bits - 1 - position : position;
}
uint32_t __superstep_nvvm_flo_u_i32(uint32_t a, bool shift_amount) { return find_leading(a, 32, shift_amount); }
uint32_t __superstep_nvvm_flo_u_i64(uint64_t a, bool shift_amount) { return find_leading(a, 64, shift_amount); }
uint32_t __superstep_nvvm_flo_s_i32(int32_t a, bool shift_amount) {
  return find_leading((uint32_t)(a < 0 ? ~a : a), 32, shift_amount);
}
uint32_t __superstep_nvvm_flo_s_i64(int64_t a, bool shift_amount) {
  return find_leading((uint64_t)(a < 0 ? ~a : a), 64, shift_amount);
}

/* bmsk: `b` ones from bit `a`; szext: the low `b` bits of `a`, extended. clamp: b above 32 counts as 32; wrap: modulo 32. */
static inline uint32_t ones(uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }
uint32_t __superstep_nvvm_bmsk_wrap(uint32_t a, uint32_t b) { return ones(b & 31) << (a & 31); }
uint32_t __superstep_nvvm_bmsk_clamp(uint32_t a, uint32_t b) { return a >= 32 ? 0 : ones(b) << a; }
uint32_t __superstep_nvvm_zext_wrap(uint32_t a, uint32_t b) { return a & ones(b & 31); }
uint32_t __superstep_nvvm_zext_clamp(uint32_t a, uint32_t b) { return a & ones(b); }
static inline uint32_t sign_extend(uint32_t a, uint32_t bits) {
  if (bits == 0)
    return 0;
  if (bits >= 32)
    return a;
  return (uint32_t)((int32_t)(a << (32 - bits)) >> (32 - bits));
}
uint32_t __superstep_nvvm_sext_wrap(uint32_t a, uint32_t b) { return sign_extend(a, b & 31); }
uint32_t __superstep_nvvm_sext_clamp(uint32_t a, uint32_t b) { return sign_extend(a, b); }

/* Funnel shifts of the 64-bit value {high, low}, with the amount clamped to 32. */
uint32_t __superstep_nvvm_fshl_clamp_i32(uint32_t high, uint32_t low, uint32_t amount) {
  uint64_t value = (uint64_t)high << 32 | low;
  return (uint32_t)((value << (amount > 32 ? 32 : amount)) >> 32);
}
uint32_t __superstep_nvvm_fshr_clamp_i32(uint32_t high, uint32_t low, uint32_t amount) {
  return (uint32_t)(((uint64_t)high << 32 | low) >> (amount > 32 ? 32 : amount));
}

/* Dot products of four bytes, and of two 16-bit integers with two bytes of `b` (the upper two if `high`). */
#define IDP4A(name, type_a, type_b) \
  int32_t __superstep_nvvm_idp4a_##name(uint32_t a, uint32_t b, int32_t c) { \
    for (int i = 0; i < 32; i += 8) \
      c = (int32_t)((uint32_t)c + (uint32_t)((int32_t)(type_a)(a >> i) * (int32_t)(type_b)(b >> i))); \
    return c; \
  }
IDP4A(s_s, int8_t, int8_t)
IDP4A(s_u, int8_t, uint8_t)
IDP4A(u_s, uint8_t, int8_t)
IDP4A(u_u, uint8_t, uint8_t)
#define IDP2A(name, type_a, type_b) \
  int32_t __superstep_nvvm_idp2a_##name(uint32_t a, uint32_t b, bool high, int32_t c) { \
    uint32_t bytes = high ? b >> 16 : b; \
    for (int i = 0; i < 2; i++) \
      c = (int32_t)((uint32_t)c + (uint32_t)((int32_t)(type_a)(a >> (16 * i)) * (int32_t)(type_b)(bytes >> (8 * i)))); \
    return c; \
  }
IDP2A(s_s, int16_t, int8_t)
IDP2A(s_u, int16_t, uint8_t)
IDP2A(u_s, uint16_t, int8_t)
IDP2A(u_u, uint16_t, uint8_t)
