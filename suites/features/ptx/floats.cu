// Single and double precision, in every rounding mode.
#include "ptx.h"
#include <cfenv>

static uint32_t as_word(float value) { return bits<uint32_t>(value); }
static uint64_t as_long(double value) { return bits<uint64_t>(value); }
static float zero(float value) { return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value; }
static float unit(float value) { return value >= 1 ? 1.0f : value > 0 ? value : 0.0f; }
template <typename T>
static T lesser(T a, T b) {
    if (a != a || b != b) return a != a ? b : a;
    return a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
}
template <typename T, typename Operation>
static T rounded(int mode, T a, T b, Operation operation) {
    fesetround(mode);
    volatile T result = operation(a, b);
    fesetround(FE_TONEAREST);
    return result;
}
template <typename T>
static T fused(int mode, volatile T a, volatile T b, volatile T c) {
    fesetround(mode);
    volatile T result = std::fma((T)a, (T)b, (T)c);
    fesetround(FE_TONEAREST);
    return result;
}

#include "device.inc"
__global__ void run_floats(const In *all, uint64_t *out) {
    const In in = all[threadIdx.x + blockIdx.x * blockDim.x];
    out += threadIdx.x + blockIdx.x * blockDim.x;
    int at = 0;
#include "floats.inc"
}

#include "host.inc"
void floats() {
    Group group{"floats"};
    const uint64_t *found = run(run_floats, 200);
    int at = 0;
#include "floats.inc"
    group.end();
    failures += group.wrong;
}
