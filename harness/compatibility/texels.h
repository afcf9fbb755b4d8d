/* Texture reads: texel types and addressing modes as in the CUDA C++ Programming Guide, appendix "Texture fetching", with plain loads
   from global memory. Textures and arrays are linear memory here, so reads are ordinary accesses. */
#ifndef SUPERSTEP_TEXELS_H
#define SUPERSTEP_TEXELS_H

#include "texture_filter.h"

/* Description of the memory that a texture is bound to, kept in constant memory. */
struct superstep_texture_view {
    const void *data;                      /* first texel; null if nothing is bound */
    unsigned long long row_bytes;          /* distance between rows */
    unsigned long long slice_bytes;        /* distance between planes or layers */
    unsigned int width, height, depth;     /* in texels; layers count as depth */
    cudaTextureAddressMode address_mode[3];
    cudaTextureFilterMode filter_mode;
    bool is_normalized;

    __device__ superstep_place locate(float coordinate, int dimension, unsigned int extent, int fraction_bits) const {
        return superstep_locate(coordinate, extent, address_mode[dimension], is_normalized, filter_mode == cudaFilterModeLinear, fraction_bits);
    }
};

/* A texel type: the type and number of its components, and the type of the same shape with float components. */
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

/* Unsigned integers of a texel's size. */
template <int bytes> struct superstep_bits;
template <> struct superstep_bits<1> { using type = unsigned char; };
template <> struct superstep_bits<2> { using type = unsigned short; };
template <> struct superstep_bits<4> { using type = unsigned int; };
template <> struct superstep_bits<8> { using type = unsigned long long; };
template <> struct superstep_bits<16> { using type = unsigned __int128; };

/* The bits of a component, and conversion of texels component by component. */
template <class T> __device__ inline unsigned int superstep_component_bits(const T &texel, int i) {
    using Bits = typename superstep_bits<sizeof(typename superstep_texel<T>::component)>::type;
    return reinterpret_cast<const Bits *>(&texel)[i];
}
template <class R, class Number> __device__ inline R superstep_by_component(Number number) {
    R result;
#pragma unroll
    for (int i = 0; i < superstep_texel<R>::count; i++) reinterpret_cast<float *>(&result)[i] = number(i);
    return result;
}

/* Converts a texel to the result of an unfiltered read. */
template <class R, class T> __device__ inline R superstep_converted(const T &texel, superstep_components components) {
    if constexpr (__is_same(R, T)) return texel;
    else return superstep_by_component<R>([&](int i) { return superstep_number(superstep_component_bits(texel, i), components); });
}

/* Maps an index to 0 … count - 1 according to the addressing mode; returns false if the texel reads as zero. */
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

/* Loads a whole texel as one integer, like texture hardware, so that the compiler cannot omit unused components. */
template <class T> __device__ inline T superstep_load(const void *place) {
    using Part = typename superstep_bits<sizeof(typename superstep_texel<T>::component)>::type;
    const auto bits = *static_cast<const typename superstep_bits<sizeof(T)>::type *>(place);
    T texel;
#pragma unroll
    for (int i = 0; i < superstep_texel<T>::count; i++) {
        const Part part = (Part)(bits >> (8 * sizeof(Part) * i));
        __builtin_memcpy(reinterpret_cast<Part *>(&texel) + i, &part, sizeof(part));
    }
    return texel;
}

/* Returns the address of the texel at these indices, or null if the texel reads as zero. */
template <int dimensions>
__device__ inline const char *superstep_texel_at(const superstep_texture_view &view, unsigned int texel_bytes, int x, int y, int z, int layer) {
    bool is_inside = superstep_address(x, (int)view.width, view.address_mode[0], view.is_normalized);
    if constexpr (dimensions >= 2) is_inside &= superstep_address(y, (int)view.height, view.address_mode[1], view.is_normalized);
    if constexpr (dimensions >= 3) is_inside &= superstep_address(z, (int)view.depth, view.address_mode[2], view.is_normalized);
    if (!is_inside) return nullptr;
    unsigned long long offset = (unsigned long long)x * texel_bytes + layer * view.slice_bytes;
    if constexpr (dimensions >= 2) offset += y * view.row_bytes;
    if constexpr (dimensions >= 3) offset += z * view.slice_bytes;
    return static_cast<const char *>(view.data) + offset;
}

/* Positions of the texels for a read at these coordinates. */
template <int dimensions> struct superstep_places {
    superstep_place x, y, z;
    int layer;
    bool is_layered;
    __device__ superstep_places(const superstep_texture_view &view, float at_x, float at_y, float at_z, bool has_layers = false, int at_layer = 0)
        : layer(at_layer), is_layered(has_layers) {
        const int fraction_bits = superstep_fraction_bits(view.width, view.height, view.depth, has_layers);
        x = view.locate(at_x, 0, view.width, fraction_bits);
        y = view.locate(at_y, 1, view.height, fraction_bits);
        z = dimensions == 3 ? view.locate(at_z, 2, view.depth, fraction_bits) : superstep_place{0, 0};
        /* The hardware treats a negative layer as a large unsigned number. */
        if ((unsigned int)layer >= view.depth) layer = view.depth > 0 ? (int)view.depth - 1 : 0;
    }
};

/* Reads texels of type T through `load`, and converts or filters them. */
template <class R, class T, int dimensions, class Load>
__device__ inline R superstep_read_by(const superstep_texture_view &view, superstep_components components, const superstep_places<dimensions> &at,
                                      unsigned int texel_bytes, Load load) {
    const auto texel = [&](int up_x, int up_y, int up_z) {
        const char *place =
            superstep_texel_at<dimensions>(view, texel_bytes, at.x.lower + up_x, at.y.lower + up_y, at.z.lower + up_z, at.layer);
        return place == nullptr ? T{} : load(place);
    };
    if constexpr (__is_same(typename superstep_texel<R>::component, float)) {
        if (view.filter_mode == cudaFilterModeLinear) {
            constexpr int planes = dimensions == 3 ? 2 : 1;
            T texels[planes][4];
#pragma unroll
            for (int plane = 0; plane < planes; plane++) {
                texels[plane][0] = texel(0, 0, plane);
                texels[plane][1] = texel(1, 0, plane);
                texels[plane][2] = dimensions == 1 ? texels[plane][0] : texel(0, 1, plane);
                texels[plane][3] = dimensions == 1 ? texels[plane][1] : texel(1, 1, plane);
            }
            /* A 1D texture is filtered at y = 0, between row -1 and its only row. In border mode, row -1 is zero; layered textures have no
             * row -1. */
            if (dimensions == 1 && !at.is_layered && view.address_mode[1] == cudaAddressModeBorder) texels[0][0] = texels[0][1] = T{};
            return superstep_by_component<R>([&](int i) {
                superstep_sum sums[2]{};
#pragma unroll
                for (int plane = 0; plane < planes; plane++) {
                    const int part = plane ? at.z.weight : 256 - at.z.weight;
                    const unsigned int reached = part == 0 ? 0 : (at.x.weight > 0 ? 3 : 1) * (at.y.weight > 0 ? 5 : 1);
                    const auto bits = [&](int corner) { return superstep_component_bits(texels[plane][corner], i); };
                    sums[plane] = superstep_add({bits(0), bits(1), bits(2), bits(3)}, superstep_weigh(part, at.x.weight, at.y.weight), reached, components);
                }
                return superstep_mean(sums[0], sums[1], components);
            });
        }
    }
    return superstep_converted<R>(texel(0, 0, 0), components);
}

template <class R, class T, int dimensions>
__device__ inline R superstep_read(const superstep_texture_view &view, superstep_components components, const superstep_places<dimensions> &at) {
    return superstep_read_by<R, T>(view, components, at, sizeof(T), superstep_load<T>);
}

/* Reads linear memory at an index, without addressing modes or filters; returns zero outside it. */
template <class R, class T, class Load>
__device__ inline R superstep_read_by(const superstep_texture_view &view, superstep_components components, int index, unsigned int texel_bytes, Load load) {
    T texel{};
    if (index >= 0 && (unsigned)index < view.width) texel = load(static_cast<const char *>(view.data) + (unsigned long long)index * texel_bytes);
    return superstep_converted<R>(texel, components);
}
template <class R, class T> __device__ inline R superstep_read(const superstep_texture_view &view, superstep_components components, int index) {
    return superstep_read_by<R, T>(view, components, index, sizeof(T), superstep_load<T>);
}

#endif
