/* How a texture is read: texel types, addressing modes and filters after the CUDA C++ Programming Guide, appendix "Texture fetching",
   with plain loads from global memory. Texture memory is linear here, arrays too, so that every read is an access like any other. */
#ifndef SUPERSTEP_TEXELS_H
#define SUPERSTEP_TEXELS_H

#include <cuda_runtime.h>

/* What a texture is bound to. Lies in constant memory. */
struct superstep_texture_view {
    const void *data;                      /* first texel; null when nothing is bound */
    unsigned long long row_bytes;          /* from row to row */
    unsigned long long slice_bytes;        /* from plane to plane, or from layer to layer */
    unsigned int width, height, depth;     /* texels; layers count as depth */
    cudaTextureAddressMode address_mode[3];
    cudaTextureFilterMode filter_mode;
    bool is_normalized;
};

/* A texel type: its component's type, the number of components, and the type of the same shape with components of type float. */
template <class T> struct superstep_texel;
#define SUPERSTEP_TEXEL(TYPE, COMPONENT, COUNT, FLOAT) \
    template <> struct superstep_texel<TYPE> { \
        using component = COMPONENT; \
        using real = FLOAT; \
        static constexpr int count = COUNT; \
    };
#define SUPERSTEP_TEXELS(SCALAR, PREFIX) \
    SUPERSTEP_TEXEL(SCALAR, SCALAR, 1, float) \
    SUPERSTEP_TEXEL(PREFIX##1, SCALAR, 1, float1) \
    SUPERSTEP_TEXEL(PREFIX##2, SCALAR, 2, float2) \
    SUPERSTEP_TEXEL(PREFIX##4, SCALAR, 4, float4)
SUPERSTEP_TEXEL(char, char, 1, float)
SUPERSTEP_TEXELS(signed char, char)
SUPERSTEP_TEXELS(unsigned char, uchar)
SUPERSTEP_TEXELS(short, short)
SUPERSTEP_TEXELS(unsigned short, ushort)
SUPERSTEP_TEXELS(int, int)
SUPERSTEP_TEXELS(unsigned int, uint)
SUPERSTEP_TEXELS(float, float)
#undef SUPERSTEP_TEXELS
#undef SUPERSTEP_TEXEL

/* What a read gives: the texel itself, or the same with components from 0 to 1 (-1 to 1 for signed ones). */
template <class T, cudaTextureReadMode mode> struct superstep_read { using type = T; };
template <class T> struct superstep_read<T, cudaReadModeNormalizedFloat> { using type = typename superstep_texel<T>::real; };
template <class T, cudaTextureReadMode mode> using superstep_read_t = typename superstep_read<T, mode>::type;

/* One component as a number. */
template <cudaTextureReadMode mode, class C> __device__ inline float superstep_component(C value) {
    if constexpr (mode == cudaReadModeElementType || sizeof(C) > 2) return (float)value;
    constexpr bool is_signed = (C)-1 < (C)0;
    constexpr float largest = (float)((1u << (8 * sizeof(C) - (is_signed ? 1 : 0))) - 1);
    const float ratio = (float)value / largest;
    return ratio < -1.0f ? -1.0f : ratio;
}

/* All components as numbers; those that a texel lacks are 0. */
template <cudaTextureReadMode mode, class T> __device__ inline float4 superstep_numbers(const T &texel) {
    using C = typename superstep_texel<T>::component;
    const C *component = reinterpret_cast<const C *>(&texel);
    float4 numbers = {superstep_component<mode>(component[0]), 0, 0, 0};
    if constexpr (superstep_texel<T>::count >= 2) numbers.y = superstep_component<mode>(component[1]);
    if constexpr (superstep_texel<T>::count == 4) {
        numbers.z = superstep_component<mode>(component[2]);
        numbers.w = superstep_component<mode>(component[3]);
    }
    return numbers;
}

/* The reverse of the above, for what is made of floats. */
template <class R> __device__ inline R superstep_from_numbers(float4 numbers) {
    R result;
    float *component = reinterpret_cast<float *>(&result);
    component[0] = numbers.x;
    if constexpr (superstep_texel<R>::count >= 2) component[1] = numbers.y;
    if constexpr (superstep_texel<R>::count == 4) {
        component[2] = numbers.z;
        component[3] = numbers.w;
    }
    return result;
}

/* Brings an index into 0 … count - 1 as the addressing mode says; false where a texel of zeroes stands instead. */
__device__ inline bool superstep_address(int &index, int count, cudaTextureAddressMode mode, bool is_normalized) {
    if (count <= 0) return false;
    if (index >= 0 && index < count) return true;
    if (mode == cudaAddressModeBorder) return false;
    if (is_normalized && mode == cudaAddressModeWrap) {
        index %= count;
        index += index < 0 ? count : 0;
    } else if (is_normalized && mode == cudaAddressModeMirror) {
        index %= 2 * count;
        index += index < 0 ? 2 * count : 0;
        index = index < count ? index : 2 * count - 1 - index;
    } else {
        index = index < 0 ? 0 : count - 1;
    }
    return true;
}

/* Unsigned numbers as large as a texel. */
template <int bytes> struct superstep_bits;
template <> struct superstep_bits<1> { using type = unsigned char; };
template <> struct superstep_bits<2> { using type = unsigned short; };
template <> struct superstep_bits<4> { using type = unsigned int; };
template <> struct superstep_bits<8> { using type = unsigned long long; };
template <> struct superstep_bits<16> { using type = unsigned int __attribute__((ext_vector_type(4))); };

/* Loads a texel as a whole, as texture hardware does: `volatile` keeps the compiler from leaving out components that are not used. */
template <class T> __device__ inline T superstep_load(const void *place) {
    using Bits = typename superstep_bits<sizeof(T)>::type;
    if constexpr (superstep_texel<T>::count == 1) return *static_cast<const T *>(place);
    const Bits bits = *static_cast<const volatile Bits *>(place);
    return __builtin_bit_cast(T, bits);
}

/* The texel of an index in each dimension. */
template <int dimensions, class T> __device__ inline T superstep_texel_at(const superstep_texture_view &view, int x, int y, int z, int layer) {
    bool is_inside = superstep_address(x, (int)view.width, view.address_mode[0], view.is_normalized);
    if constexpr (dimensions >= 2) is_inside &= superstep_address(y, (int)view.height, view.address_mode[1], view.is_normalized);
    if constexpr (dimensions >= 3) is_inside &= superstep_address(z, (int)view.depth, view.address_mode[2], view.is_normalized);
    if (!is_inside) return T{};
    unsigned long long offset = (unsigned long long)x * sizeof(T) + layer * view.slice_bytes;
    if constexpr (dimensions >= 2) offset += y * view.row_bytes;
    if constexpr (dimensions >= 3) offset += z * view.slice_bytes;
    return superstep_load<T>(static_cast<const char *>(view.data) + offset);
}

/* Where a linear filter reads: the lower texel, and the upper one's weight with 8 bits, as the hardware holds it. */
struct superstep_between {
    int lower;
    float weight;
    __device__ explicit superstep_between(float coordinate) {
        const float shifted = coordinate - 0.5f;
        lower = (int)floorf(shifted);
        weight = rintf((shifted - floorf(shifted)) * 256.0f) / 256.0f;
    }
};

__device__ inline float4 superstep_mix(float4 a, float4 b, float weight) {
    const float rest = 1.0f - weight;
    return {rest * a.x + weight * b.x, rest * a.y + weight * b.y, rest * a.z + weight * b.z, rest * a.w + weight * b.w};
}

/* Reads a texture at a coordinate. */
template <int dimensions, class T, cudaTextureReadMode mode>
__device__ inline superstep_read_t<T, mode> superstep_sample(const superstep_texture_view &view, float x, float y, float z, int layer) {
    using R = superstep_read_t<T, mode>;
    constexpr bool gives_floats = mode == cudaReadModeNormalizedFloat || __is_same(typename superstep_texel<T>::component, float);
    if (view.is_normalized) {
        x *= (float)view.width;
        y *= (float)view.height;
        z *= (float)view.depth;
    }
    const int last_layer = (int)view.depth - 1;
    layer = layer < 0 || last_layer < 0 ? 0 : layer > last_layer ? last_layer : layer;
    if constexpr (gives_floats) {
        if (view.filter_mode == cudaFilterModeLinear) {
            const superstep_between in_x(x), in_y(y), in_z(z);
            const auto number = [&](int up_x, int up_y, int up_z) {
                return superstep_numbers<mode>(
                    superstep_texel_at<dimensions, T>(view, in_x.lower + up_x, in_y.lower + up_y, in_z.lower + up_z, layer));
            };
            const auto row = [&](int up_y, int up_z) { return superstep_mix(number(0, up_y, up_z), number(1, up_y, up_z), in_x.weight); };
            const auto plane = [&](int up_z) {
                if constexpr (dimensions == 1) return row(0, up_z);
                else return superstep_mix(row(0, up_z), row(1, up_z), in_y.weight);
            };
            if constexpr (dimensions < 3) return superstep_from_numbers<R>(plane(0));
            else return superstep_from_numbers<R>(superstep_mix(plane(0), plane(1), in_z.weight));
        }
    }
    const T texel = superstep_texel_at<dimensions, T>(view, (int)floorf(x), (int)floorf(y), (int)floorf(z), layer);
    if constexpr (mode == cudaReadModeNormalizedFloat) return superstep_from_numbers<R>(superstep_numbers<mode>(texel));
    else return texel;
}

/* Reads linear memory at an index: no addressing mode, no filter, zeroes outside. */
template <class T, cudaTextureReadMode mode>
__device__ inline superstep_read_t<T, mode> superstep_fetch(const superstep_texture_view &view, int x) {
    T texel{};
    if (x >= 0 && (unsigned)x < view.width) texel = superstep_load<T>(static_cast<const T *>(view.data) + x);
    if constexpr (mode == cudaReadModeNormalizedFloat) return superstep_from_numbers<superstep_read_t<T, mode>>(superstep_numbers<mode>(texel));
    else return texel;
}

#endif
