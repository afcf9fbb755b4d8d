// Integers and bits: compares each instruction with its definition.
#include "ptx.h"
#include <climits>

typedef __int128 wide;
static wide clamp(wide value, wide low, wide high) { return value < low ? low : value > high ? high : value; }
static int32_t signed24(uint32_t value) { return (int32_t)(value << 8) >> 8; }
static unsigned __int128 sum_of_three(uint64_t x, uint64_t y) { return (unsigned __int128)x + y; }
static uint32_t leading(uint64_t value, int width) {
    int count = 0;
    while (count < width && !(value >> (width - 1 - count) & 1)) count++;
    return count;
}
static uint64_t reversed(uint64_t value, int width) {
    uint64_t result = 0;
    for (int i = 0; i < width; i++) result |= (value >> i & 1) << (width - 1 - i);
    return result;
}
static uint32_t nth_set(uint32_t mask, uint32_t base, int n) {
    if (n == 0) return mask >> base & 1 ? base : ~0u;
    int found = 0;
    for (int i = base; i >= 0 && i < 32; i += n > 0 ? 1 : -1)
        if ((mask >> i & 1) && ++found == (n > 0 ? n : -n)) return i;
    return ~0u;
}
// The manual's pseudocode for bfe.
static uint64_t field(uint64_t value, uint32_t start, uint32_t length, bool is_signed, int width) {
    const uint32_t last = start + length - 1 > (uint32_t)width - 1 || length == 0 ? width - 1 : start + length - 1;
    bool sign = is_signed && length > 0 && (value >> (start + length - 1 > (uint32_t)width - 1 ? (uint32_t)width - 1 : last) & 1);
    uint64_t result = 0;
    for (int i = 0; i < width; i++) {
        const bool inside = (uint32_t)i < length && start + i <= (uint32_t)width - 1;
        result |= (uint64_t)(inside ? value >> (start + i) & 1 : sign) << i;
    }
    return result;
}
static uint64_t inserted(uint64_t value, uint64_t into, uint32_t start, uint32_t length, int width) {
    for (uint32_t i = 0; i < length && start + i < (uint32_t)width; i++)
        into = (into & ~(1ull << (start + i))) | (value >> i & 1) << (start + i);
    return into;
}
static uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector) {
    uint32_t result = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t nibble = selector >> 4 * i & 15, word = nibble & 4 ? b : a;
        uint32_t byte = word >> 8 * (nibble & 3) & 255;
        if (nibble & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}
static uint32_t table(uint32_t a, uint32_t b, uint32_t c, uint32_t lut) {
    uint32_t result = 0;
    for (int i = 0; i < 32; i++) result |= (lut >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i;
    return result;
}
template <typename A, typename B>
static uint32_t dot4(uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 4; i++) c += (int)(A)(a >> 8 * i) * (int)(B)(b >> 8 * i);
    return c;
}
template <typename A, typename B>
static uint32_t dot2(uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 2; i++) c += (int)(A)(a >> 16 * i) * (int)(B)(b >> 8 * i);
    return c;
}
template <typename Operation>
static uint32_t lanes(uint32_t a, uint32_t b, Operation operation) {
    return (operation(a & 0xffff, b & 0xffff) & 0xffff) | operation(a >> 16, b >> 16) << 16;
}
static uint32_t collatz(uint32_t n) {
    uint32_t steps = 0;
    for (; n > 1; steps++) n = n & 1 ? 3 * n + 1 : n / 2;
    return steps;
}
template <int count, typename Operation>
static uint32_t video_sum(uint32_t a, uint32_t b, uint32_t c, bool is_signed, Operation operation, bool merge = false) {
    const int width = 32 / count, mask = (1 << width) - 1;
    uint32_t result = c;
    for (int i = 0; i < count; i++) {
        int p = a >> i * width & mask, q = b >> i * width & mask;
        if (is_signed && p >> (width - 1)) p -= 1 << width;
        if (is_signed && q >> (width - 1)) q -= 1 << width;
        const uint32_t value = (uint32_t)operation(p, q);
        result += merge ? (value & mask) << i * width : value;
    }
    return result;
}
template <int count, typename Operation>
static uint32_t video(uint32_t a, uint32_t b, uint32_t c, bool is_signed, Operation operation) {
    return video_sum<count>(a, b, c, is_signed, operation, true);
}

#include "device.inc"
__global__ void run_integers(const In *all, uint64_t *out) {
    const In in = all[threadIdx.x + blockIdx.x * blockDim.x];
    out += threadIdx.x + blockIdx.x * blockDim.x;
    int at = 0;
#include "integers.inc"
}

#include "host.inc"
void integers() {
    Group group{"integers"};
    const uint64_t *found = run(run_integers, 200);
    int at = 0;
#include "integers.inc"
    group.end();
    failures += group.wrong;
}
