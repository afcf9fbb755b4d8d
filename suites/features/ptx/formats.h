// Floating-point formats with fewer bits than float, and functions that round exact numbers to them.
#pragma once
#include <cfenv>
#include <cmath>
#include <cstdint>
#include "ptx.h"

struct Format {
    int precision, least_exponent, mantissa_bits;
    double largest;
};
constexpr Format half_format{11, -14, 10, 65504.0}, brain_format{8, -126, 7, 0x1.fep127};

// Uses the current rounding mode, which also decides whether overflow yields infinity.
inline double round_to(const Format &format, double value) {
    if (value == 0 || value != value || std::isinf(value)) return value;
    const int mode = fegetround();
    const int exponent = std::max(std::ilogb(value), format.least_exponent);
    const double unit = std::ldexp(1.0, exponent - format.precision + 1);
    volatile double count = value / unit;
    const double result = std::nearbyint(count) * unit;
    if (std::fabs(result) <= format.largest) return std::copysign(result, value);
    const bool up = mode == FE_TONEAREST || (mode == FE_UPWARD && value > 0) || (mode == FE_DOWNWARD && value < 0);
    return std::copysign(up ? INFINITY : format.largest, value);
}
inline uint16_t encode(const Format &format, double value) {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (value != value) return 0x7fff;
    value = std::fabs(round_to(format, value));
    const int bias = -format.least_exponent + 1;
    if (std::isinf(value)) return sign | (uint16_t)((2 * bias + 1) << format.mantissa_bits);
    if (value == 0) return sign;
    const int exponent = std::max(std::ilogb(value), format.least_exponent);
    const uint32_t count = (uint32_t)std::ldexp(value, format.mantissa_bits - exponent);
    return sign | (uint16_t)(((exponent - format.least_exponent) << format.mantissa_bits) + count);
}
inline double decode(const Format &format, uint16_t value) {
    const int exponents = (1 << (15 - format.mantissa_bits)) - 1;
    const int exponent = value >> format.mantissa_bits & exponents, mantissa = value & ((1 << format.mantissa_bits) - 1);
    double result = exponent == exponents ? (mantissa ? NAN : INFINITY)
                    : exponent ? std::ldexp(mantissa + (1 << format.mantissa_bits), exponent - 1 + format.least_exponent - format.mantissa_bits)
                               : std::ldexp(mantissa, format.least_exponent - format.mantissa_bits);
    return value & 0x8000 ? -result : result;
}
inline uint16_t half(double value) { return encode(half_format, value); }
inline uint16_t brain(double value) { return encode(brain_format, value); }
inline double value_half(uint32_t bits) { return decode(half_format, (uint16_t)bits); }
inline double value_brain(uint32_t bits) { return decode(brain_format, (uint16_t)bits); }
