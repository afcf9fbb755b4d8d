// Half precision and bfloat16, alone and in pairs.
#include "formats.h"

static double unit(double value) { return value >= 1 ? 1.0 : value > 0 ? value : 0.0; }
static double lesser(double a, double b) {
    if (a != a || b != b) return a != a ? b : a;
    return a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
}
static double lesser_nan(double a, double b) { return a != a || b != b ? NAN : lesser(a, b); }
static uint16_t positive(uint16_t value) { return (value & 0x7fff) > 0x7f80 && value == 0x7fff ? value : value & 0x8000 ? 0 : value; }
// Returns a * b + c with any lost bits marked in the last place, so that double rounding is harmless.
static double exact(double a, double b, double c) {
    const double product = a * b, sum = product + c;
    if (sum - sum != 0) return sum;
    const double part = sum - product, error = (product - (sum - part)) + (c - part);
    if (error == 0 || (bits<uint64_t>(sum) & 1)) return sum;
    return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}
static uint16_t fused_half(uint16_t a, uint16_t b, uint16_t c) { return half(exact(value_half(a), value_half(b), value_half(c))); }
static uint16_t fused_brain(uint16_t a, uint16_t b, uint16_t c) { return brain(exact(value_brain(a), value_brain(b), value_brain(c))); }
template <typename Operation>
static uint32_t pair(uint32_t a, uint32_t b, uint32_t c, Operation operation) {
    const uint16_t low = operation((uint16_t)a, (uint16_t)b, (uint16_t)c);
    return low | (uint32_t)(uint16_t)operation((uint16_t)(a >> 16), (uint16_t)(b >> 16), (uint16_t)(c >> 16)) << 16;
}

#include "device.inc"
__global__ void run_shorts(const In *all, uint64_t *out) {
    const In in = all[threadIdx.x + blockIdx.x * blockDim.x];
    out += threadIdx.x + blockIdx.x * blockDim.x;
    int at = 0;
#include "shorts.inc"
}

#include "host.inc"
void shorts() {
    Group group{"shorts"};
    const uint64_t *found = run(run_shorts, 100);
    int at = 0;
#include "shorts.inc"
    group.end();
    failures += group.wrong;
}
