// Conversions between all types, in every rounding mode.
#include "formats.h"
#include <climits>

typedef __int128 wide;
template <typename Operation>
static auto in_mode(int mode, Operation operation) {
    fesetround(mode);
    volatile auto result = operation();
    fesetround(FE_TONEAREST);
    return (decltype(operation()))result;
}
static double integral(int mode, double value) {
    return in_mode(mode, [&] {
        volatile double v = value;
        return std::nearbyint(v);
    });
}
// NaN becomes 0; values out of range become the nearest bound.
static uint64_t bounded(int mode, double value, wide low, wide high) {
    if (value != value) return 0;
    const double whole = integral(mode, value);
    if (whole <= (double)low) return (uint64_t)low;
    return whole >= (double)high ? (uint64_t)high : (uint64_t)(wide)whole;
}
// Conversions from double or to a 64-bit integer: NaN sets only the highest bit.
static uint64_t bounded_wide(int mode, double value, wide low, wide high) {
    return value != value ? (uint64_t)(low ? high : high >> 1) + 1 : bounded(mode, value, low, high);
}
// Returns a double that rounds to fewer bits in the same way as the integer.
static double odd(wide value) {
    wide magnitude = value < 0 ? -value : value, leading = magnitude;
    int shift = 0;
    while (leading >> 52) leading >>= 1, shift++;
    if (leading << shift != magnitude) leading |= 1;
    return std::ldexp((double)leading, shift) * (value < 0 ? -1 : 1);
}
// 8-bit numbers; larger values saturate.
static uint32_t small(int mantissa_bits, int least_exponent, double largest, uint32_t largest_bits, double value) {
    if (value != value) return 0x7f;
    const uint32_t sign = std::signbit(value) ? 0x80 : 0;
    const double rounded = std::fabs(round_to(Format{mantissa_bits + 1, least_exponent, mantissa_bits, INFINITY}, value));
    if (rounded >= largest) return sign | largest_bits;
    if (rounded == 0) return sign;
    const int exponent = std::max(std::ilogb(rounded), least_exponent);
    return sign | (uint32_t)(((exponent - least_exponent) << mantissa_bits) + (int)std::ldexp(rounded, mantissa_bits - exponent));
}
static double value_small(int mantissa_bits, int least_exponent, uint32_t bits) {
    const int exponent = (bits & 0x7f) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
    if ((bits & 0x7f) == 0x7f) return NAN;
    const double value = exponent ? std::ldexp(mantissa + (1 << mantissa_bits), exponent - 1 + least_exponent - mantissa_bits)
                                  : std::ldexp(mantissa, least_exponent - mantissa_bits);
    return bits & 0x80 ? -value : value;
}

#include "device.inc"
__global__ void run_conversions(const In *all, uint64_t *out) {
    const In in = all[threadIdx.x + blockIdx.x * blockDim.x];
    out += threadIdx.x + blockIdx.x * blockDim.x;
    int at = 0;
#include "conversions.inc"
}

#include "host.inc"
void conversions() {
    Group group{"conversions"};
    const uint64_t *found = run(run_conversions, 200);
    int at = 0;
#include "conversions.inc"
    group.end();
    failures += group.wrong;
}
