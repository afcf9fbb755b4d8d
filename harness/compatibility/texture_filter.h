/* Linear texture filtering, bit for bit as the hardware computes it. NVIDIA documents only that weights have 8 bits; the rest
   models the results of millions of reads on an H200; suites/features/texture_filter checks a sample. Uses only integer
   arithmetic, which does not depend on compiler flags. */
#ifndef SUPERSTEP_TEXTURE_FILTER_H
#define SUPERSTEP_TEXTURE_FILTER_H

#include <cuda_runtime.h>

/* Not inlined, since kernels read textures in many places, and each read needs code for every format. Internal linkage lets the compiler
 * infer that calls write no memory and reuse the kernel's earlier loads. */
#define SUPERSTEP_OUT_OF_LINE static __device__ __noinline__ __attribute__((unused))

/* Position of a coordinate: within one texel if there is no filter, otherwise between two; the upper one's weight is `weight` / 256. */
struct superstep_place {
    int lower, weight;
};
/* Returns the number of fractional bits in normalized coordinates, which is higher if any dimension of the texture is large. */
__device__ inline int superstep_fraction_bits(unsigned int width, unsigned int height, unsigned int depth, bool is_layered) {
    const unsigned int longest = max(width, height);
    return 21 + (longest > 8192 || (!is_layered && depth > 2050)) + (longest > (is_layered ? 16384 : 65536));
}
SUPERSTEP_OUT_OF_LINE superstep_place superstep_locate(float coordinate, unsigned int extent, cudaTextureAddressMode mode, bool is_normalized,
                                                       bool is_linear, int fraction_bits) {
    constexpr double far = 1 << 30; /* outside every texture, and an even number */
    const unsigned int magnitude = __float_as_uint(coordinate) & 0x7fffffff;
    double texels = 0; /* also for subnormal numbers and NaNs */
    if (magnitude >= 0x00800000 && magnitude <= 0x7f800000) texels = fmin(fmax((double)coordinate, -far), far);
    if (is_normalized) {
        /* Wrapped and mirrored textures both repeat after twice their length. */
        const double steps = 1 << fraction_bits;
        texels = floor(texels * steps) / steps;
        if (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror) texels -= 2 * floor(texels / 2);
        texels = fmin(fmax(texels * extent, -far), far);
    }
    if (!is_linear) return {(int)floor(texels), 0};
    const long long between = (long long)floor(texels * 256 + 0.5) - 128;
    const int lower = (int)(between >> 8);
    /* In clamp mode, and in repeating modes without normalized coordinates, out-of-range coordinates map to the nearest texel. */
    const bool is_clamped = mode == cudaAddressModeClamp || (!is_normalized && mode != cudaAddressModeBorder);
    return {lower, is_clamped && (lower < 0 || lower + 1 >= (int)extent) ? 0 : (int)(between & 255)};
}

/* Returns the weights of a plane's four texels, in 256ths: the lower and upper texel of the lower row, then those of the upper row,
 * rounded so that the weights in each column add up to the column's weight. */
__device__ inline int4 superstep_weigh(int plane, int x, int y) {
    const int upper = (plane * x + 128) >> 8, lower = plane - upper;
    const int first = (lower * (256 - y) + 128) >> 8, last = (upper * y + 128) >> 8;
    return {first, upper - last, lower - first, last};
}

/* Component formats that texture reads convert to floats. */
enum superstep_components { SUPERSTEP_FLOATS, SUPERSTEP_HALVES, SUPERSTEP_CHARS, SUPERSTEP_UNSIGNED_CHARS, SUPERSTEP_SHORTS, SUPERSTEP_UNSIGNED_SHORTS };

/* Converts an integer to a number from 0 to 1, or from -1 to 1 if it is signed. */
__device__ inline float superstep_ratio(int number, int largest) {
    const float ratio = __fdiv_rn((float)number, (float)largest);
    return ratio < -1 ? -1 : ratio;
}
/* Converts a 16-bit float to a 32-bit float, exactly. */
__device__ inline unsigned int superstep_half_as_float(unsigned int half) {
    const unsigned int sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 0) return sign | __float_as_uint((float)fraction / (1 << 24));
    return sign | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | fraction << 13;
}
/* Converts the bits of a component to a number. */
SUPERSTEP_OUT_OF_LINE float superstep_number(unsigned int bits, superstep_components components) {
    switch (components) {
        case SUPERSTEP_FLOATS: return __uint_as_float(bits);
        case SUPERSTEP_HALVES: return __uint_as_float(superstep_half_as_float(bits));
        case SUPERSTEP_CHARS: return superstep_ratio((signed char)bits, 127);
        case SUPERSTEP_UNSIGNED_CHARS: return superstep_ratio((int)bits, 255);
        case SUPERSTEP_SHORTS: return superstep_ratio((short)bits, 32767);
        case SUPERSTEP_UNSIGNED_SHORTS: return superstep_ratio((int)bits, 65535);
    }
}

/* Returns the number of significant bits in a filtered float, or 0 for integers. */
__device__ inline int superstep_significant_bits(superstep_components components) {
    return components == SUPERSTEP_FLOATS ? 24 : components == SUPERSTEP_HALVES ? 11 : 0;
}

/* Weighted sum of a plane's components; for floats, in units of 2^(exponent - 138 - significant bits). */
struct superstep_sum {
    long long sum;
    int exponent;          /* the largest, biased as in a float */
    unsigned int specials; /* in all texels that the filter reaches, however small their weight */
};
enum superstep_specials { SUPERSTEP_NAN = 1, SUPERSTEP_INFINITY = 2, SUPERSTEP_MINUS_INFINITY = 4, SUPERSTEP_NO_SIGN = 8 };

/* The exponent of the smallest normal half, biased as in a float. Subnormal halves are filtered with fewer bits; subnormal floats are treated as 0. */
#define SUPERSTEP_HALF_EXPONENT 113

/* Returns the weighted sum of four components, whose bits are in `texels`. Floats are aligned to the largest exponent and keep four extra bits. `reached` has a bit for each texel
   that the filter reaches. */
SUPERSTEP_OUT_OF_LINE superstep_sum superstep_add(uint4 texels, int4 weights, unsigned int reached, superstep_components components) {
    const unsigned int infinity = 0x7f800000, sign = 0x80000000;
    const int weight[4] = {weights.x, weights.y, weights.z, weights.w}, significant_bits = superstep_significant_bits(components);
    const int smallest_exponent = components == SUPERSTEP_HALVES ? SUPERSTEP_HALF_EXPONENT : 0;
    unsigned int bits[4] = {texels.x, texels.y, texels.z, texels.w};
    superstep_sum result{0, 0, 0};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (significant_bits == 0) {
            const int number = components == SUPERSTEP_CHARS ? (signed char)bits[i] : components == SUPERSTEP_SHORTS ? (short)bits[i] : (int)bits[i];
            result.sum += number * weight[i];
            continue;
        }
        if (components == SUPERSTEP_HALVES) bits[i] = superstep_half_as_float(bits[i]);
        const int exponent = max((int)(bits[i] >> 23 & 255), smallest_exponent);
        if (weight[i] != 0 && exponent > result.exponent) result.exponent = exponent;
        if (!(reached >> i & 1)) continue;
        if ((bits[i] & ~sign) > infinity) result.specials |= SUPERSTEP_NAN;
        if (bits[i] == infinity) result.specials |= SUPERSTEP_INFINITY;
        if (bits[i] == (sign | infinity)) result.specials |= SUPERSTEP_MINUS_INFINITY;
        if (!(bits[i] & sign)) result.specials |= SUPERSTEP_NO_SIGN;
    }
    if (significant_bits == 0) return result;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int own_exponent = bits[i] >> 23 & 255, exponent = max(own_exponent, smallest_exponent), shift = result.exponent - exponent;
        if (weight[i] == 0 || own_exponent == 0 || shift > 31) continue;
        const unsigned int significand = ((bits[i] & 0x7fffff) | 0x800000) >> (24 - significant_bits + exponent - own_exponent);
        const long long term = (long long)(significand << 4 >> shift) * weight[i];
        result.sum += bits[i] & sign ? -term : term;
    }
    return result;
}

/* Returns the mean of integers, which always has 16 bits; 8-bit values are widened by repeating their bits. */
__device__ inline float superstep_mean_of_integers(int sum, superstep_components components) {
    switch (components) {
        case SUPERSTEP_CHARS: return superstep_ratio(sum + (((sum >> 4) + (sum >> 12) + 4) >> 3), 32767);
        case SUPERSTEP_UNSIGNED_CHARS: return superstep_ratio(sum + ((sum + 128) >> 8), 65535);
        case SUPERSTEP_SHORTS: return superstep_ratio((sum + 128) >> 8, 32767);
        default: return superstep_ratio((sum + 128) >> 8, 65535);
    }
}

/* Returns the mean from the sums of two planes. Sums of floats are aligned to an exponent that is a multiple of 4; ties are rounded
   away from zero. */
SUPERSTEP_OUT_OF_LINE float superstep_mean(superstep_sum a, superstep_sum b, superstep_components components) {
    const int significant_bits = superstep_significant_bits(components);
    if (significant_bits == 0) return superstep_mean_of_integers((int)(a.sum + b.sum), components);
    const unsigned int specials = a.specials | b.specials, infinity = 0x7f800000, sign = 0x80000000;
    const unsigned int infinities = specials & (SUPERSTEP_INFINITY | SUPERSTEP_MINUS_INFINITY);
    if (specials & SUPERSTEP_NAN || infinities == (SUPERSTEP_INFINITY | SUPERSTEP_MINUS_INFINITY)) return __uint_as_float(components == SUPERSTEP_HALVES ? 0x7fffe000 : 0x7fffffff);
    if (infinities) return __uint_as_float(infinities == SUPERSTEP_INFINITY ? infinity : sign | infinity);

    const int unit = (a.exponent > b.exponent ? a.exponent : b.exponent) & ~3;
    const auto aligned = [unit](const superstep_sum &plane) {
        const int shift = plane.exponent - unit;
        return shift >= 0 ? plane.sum << shift : plane.sum >> (shift < -63 ? 63 : -shift);
    };
    const long long sum = aligned(a) + aligned(b);
    if (sum == 0) return __uint_as_float(specials & SUPERSTEP_NO_SIGN ? 0 : sign);
    unsigned long long magnitude = sum < 0 ? -sum : sum;
    const int leading = 63 - __clzll(magnitude), exponent = leading + unit - 11 - significant_bits;
    const int missing = components == SUPERSTEP_HALVES ? max(SUPERSTEP_HALF_EXPONENT - exponent, 0) : 0;
    const int surplus = leading + 1 - significant_bits + missing;
    magnitude = surplus > 0 ? (magnitude + (1ull << (surplus - 1))) >> surplus : magnitude << -surplus;
    unsigned int bits = 0;
    if (missing > 0) bits = superstep_half_as_float((unsigned int)magnitude);
    else if (exponent > 0) bits = ((unsigned int)(exponent - 1) << 23) + ((unsigned int)magnitude << (24 - significant_bits));
    return __uint_as_float(sum < 0 ? sign | bits : bits);
}

#endif
