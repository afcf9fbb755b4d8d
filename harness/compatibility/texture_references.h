/* Texture references, which CUDA 12 removed. Included before the CUDA sources of programs that declare any. A reference is a variable in
 * constant memory that describes the bound memory; binding writes to it. Host code sets its fields as before. `__constant__` is added to
 * each declaration (build/src/compile/source/sources.rs). */
#ifndef SUPERSTEP_TEXTURE_REFERENCES_H
#define SUPERSTEP_TEXTURE_REFERENCES_H

#include "linear_arrays.h"
#include "texels.h"

/* A field of a texture reference. Until host code sets it, the declared value applies, which only the device's copy contains: host
   compilers leave the host's copy of a device variable empty. */
template <class T> struct superstep_setting {
    T value = T();
    bool is_set = false;
    constexpr superstep_setting() = default;
    constexpr superstep_setting(T initial) : value(initial), is_set(true) {}
    template <class V> superstep_setting &operator=(V other) {
        value = (T)other;
        is_set = true;
        return *this;
    }
    operator T() const { return value; }
    /* Uses the declared value if none was set. */
    void complete(const superstep_setting &declared) {
        if (!is_set) *this = declared.value;
    }
};

struct textureReference {
    superstep_setting<int> normalized;
    superstep_setting<cudaTextureFilterMode> filterMode;
    superstep_setting<cudaTextureAddressMode> addressMode[3];
    cudaChannelFormatDesc channelDesc{};
    int sRGB = 0;
    unsigned int maxAnisotropy = 0;
    cudaTextureFilterMode mipmapFilterMode = cudaFilterModePoint;
    float mipmapLevelBias = 0, minMipmapLevelClamp = 0, maxMipmapLevelClamp = 0;
    superstep_setting<unsigned int> superstep_texel_bytes;
    superstep_texture_view superstep_view{};

    constexpr textureReference() = default;
    constexpr textureReference(int is_normalized, cudaTextureFilterMode filter, cudaTextureAddressMode address, unsigned int texel_bytes)
        : normalized(is_normalized), filterMode(filter), addressMode{address, address, address}, superstep_texel_bytes(texel_bytes) {}
};

template <class T, int dimensions = cudaTextureType1D, cudaTextureReadMode mode = cudaReadModeElementType>
struct texture : textureReference {
    constexpr texture(int is_normalized = 0, cudaTextureFilterMode filter = cudaFilterModePoint,
                                cudaTextureAddressMode address = cudaAddressModeClamp)
        : textureReference(is_normalized, filter, address, sizeof(T)) {}
};

/* Binds a reference to memory. `view` contains the memory's address and extents. */
static inline cudaError_t superstep_bind(const textureReference *reference, superstep_texture_view view, const cudaChannelFormatDesc *format) {
    /* The program may change the fields even if it passes the reference as `const`. */
    textureReference *host = const_cast<textureReference *>(reference);
    const void *symbol = host;
    if (!host->superstep_texel_bytes.is_set) {
        textureReference declared;
        const cudaError_t status = cudaMemcpyFromSymbol(&declared, symbol, sizeof(declared), 0, cudaMemcpyDeviceToHost);
        if (status != cudaSuccess) return status == cudaErrorInvalidSymbol ? cudaErrorInvalidTexture : status;
        host->normalized.complete(declared.normalized);
        host->filterMode.complete(declared.filterMode);
        for (int i = 0; i < 3; i++) host->addressMode[i].complete(declared.addressMode[i]);
        host->superstep_texel_bytes.complete(declared.superstep_texel_bytes);
    }
    if (format != nullptr && superstep_element_bytes(*format) != host->superstep_texel_bytes) return cudaErrorInvalidChannelDescriptor;
    for (int i = 0; i < 3; i++) view.address_mode[i] = host->addressMode[i];
    view.filter_mode = host->filterMode;
    view.is_normalized = host->normalized != 0;
    host->superstep_view = view;
    return cudaMemcpyToSymbol(symbol, &view, sizeof(view), offsetof(textureReference, superstep_view), cudaMemcpyHostToDevice);
}

/* Binds linear memory, which need not be aligned here, so the offset is always 0. */
static inline cudaError_t superstep_bind_linear(size_t *offset, const textureReference *reference, const void *data, size_t texel_bytes,
                                                const cudaChannelFormatDesc *format, size_t bytes) {
    if (reference == nullptr || texel_bytes == 0) return cudaErrorInvalidValue;
    if (offset != nullptr) *offset = 0;
    superstep_texture_view view{};
    view.data = data;
    view.width = (unsigned int)(bytes / texel_bytes);
    view.height = view.depth = 1;
    view.row_bytes = view.slice_bytes = bytes;
    return superstep_bind(reference, view, format);
}

static inline cudaError_t superstep_bind_rows(size_t *offset, const textureReference *reference, const void *data,
                                              const cudaChannelFormatDesc *format, size_t width, size_t height, size_t pitch) {
    if (reference == nullptr) return cudaErrorInvalidValue;
    if (offset != nullptr) *offset = 0;
    superstep_texture_view view{};
    view.data = data;
    view.width = (unsigned int)width;
    view.height = (unsigned int)height;
    view.depth = 1;
    view.row_bytes = pitch;
    view.slice_bytes = pitch * height;
    return superstep_bind(reference, view, format);
}

static inline cudaError_t superstep_bind_array(const textureReference *reference, cudaArray_const_t array, const cudaChannelFormatDesc *format) {
    const superstep_array *linear = superstep_array::of(array);
    if (reference == nullptr || linear == nullptr) return cudaErrorInvalidValue;
    superstep_texture_view view{};
    view.data = linear->data;
    view.width = (unsigned int)linear->extent.width;
    view.height = (unsigned int)linear->rows();
    view.depth = (unsigned int)linear->planes();
    view.row_bytes = linear->row_bytes;
    view.slice_bytes = linear->row_bytes * linear->rows();
    if (linear->flags & cudaArrayLayered && linear->extent.height == 0) view.slice_bytes = linear->row_bytes;
    const cudaError_t status = superstep_bind(reference, view, format);
    return status == cudaSuccess && format == nullptr && linear->element_bytes != reference->superstep_texel_bytes
               ? cudaErrorInvalidChannelDescriptor : status;
}

/* The C interface. */
static inline cudaError_t cudaBindTexture(size_t *offset, const textureReference *reference, const void *data,
                                          const cudaChannelFormatDesc *format, size_t bytes = UINT_MAX) {
    if (format == nullptr) return cudaErrorInvalidValue;
    return superstep_bind_linear(offset, reference, data, superstep_element_bytes(*format), format, bytes);
}
static inline cudaError_t cudaBindTexture2D(size_t *offset, const textureReference *reference, const void *data,
                                            const cudaChannelFormatDesc *format, size_t width, size_t height, size_t pitch) {
    return superstep_bind_rows(offset, reference, data, format, width, height, pitch);
}
static inline cudaError_t cudaBindTextureToArray(const textureReference *reference, cudaArray_const_t array, const cudaChannelFormatDesc *format) {
    return superstep_bind_array(reference, array, format);
}
static inline cudaError_t cudaUnbindTexture(const textureReference *reference) {
    if (reference == nullptr) return cudaErrorInvalidValue;
    return superstep_bind(reference, superstep_texture_view{}, nullptr);
}
static inline cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const textureReference *) {
    *offset = 0;
    return cudaSuccess;
}
static inline cudaError_t cudaGetTextureReference(const textureReference **reference, const void *symbol) {
    *reference = static_cast<const textureReference *>(symbol);
    return cudaSuccess;
}

/* The C++ interface. */
#define SUPERSTEP_TEXTURE template <class T, int dimensions, cudaTextureReadMode mode>
#define SUPERSTEP_REFERENCE const texture<T, dimensions, mode> &reference
SUPERSTEP_TEXTURE static inline cudaError_t cudaBindTexture(size_t *offset, SUPERSTEP_REFERENCE, const void *data,
                                                            const cudaChannelFormatDesc &format, size_t bytes = UINT_MAX) {
    return superstep_bind_linear(offset, &reference, data, sizeof(T), &format, bytes);
}
SUPERSTEP_TEXTURE static inline cudaError_t cudaBindTexture(size_t *offset, SUPERSTEP_REFERENCE, const void *data, size_t bytes = UINT_MAX) {
    return superstep_bind_linear(offset, &reference, data, sizeof(T), nullptr, bytes);
}
SUPERSTEP_TEXTURE static inline cudaError_t cudaBindTexture2D(size_t *offset, SUPERSTEP_REFERENCE, const void *data,
                                                              const cudaChannelFormatDesc &format, size_t width, size_t height, size_t pitch) {
    return superstep_bind_rows(offset, &reference, data, &format, width, height, pitch);
}
SUPERSTEP_TEXTURE static inline cudaError_t cudaBindTexture2D(size_t *offset, SUPERSTEP_REFERENCE, const void *data, size_t width,
                                                              size_t height, size_t pitch) {
    return superstep_bind_rows(offset, &reference, data, nullptr, width, height, pitch);
}
SUPERSTEP_TEXTURE static inline cudaError_t cudaBindTextureToArray(SUPERSTEP_REFERENCE, cudaArray_const_t array, const cudaChannelFormatDesc &format) {
    return superstep_bind_array(&reference, array, &format);
}
SUPERSTEP_TEXTURE static inline cudaError_t cudaBindTextureToArray(SUPERSTEP_REFERENCE, cudaArray_const_t array) {
    return superstep_bind_array(&reference, array, nullptr);
}
SUPERSTEP_TEXTURE static inline cudaError_t cudaUnbindTexture(SUPERSTEP_REFERENCE) { return cudaUnbindTexture(&reference); }
SUPERSTEP_TEXTURE static inline cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, SUPERSTEP_REFERENCE) {
    return cudaGetTextureAlignmentOffset(offset, &reference);
}

/* Result types of reads: texels, or their components converted to floats. */
template <class T, cudaTextureReadMode mode> struct superstep_reads {
    using type = T;
    static constexpr superstep_components components = SUPERSTEP_FLOATS;
};
template <class T> struct superstep_reads<T, cudaReadModeNormalizedFloat> {
    using type = typename superstep_texel<T>::real;
    using C = typename superstep_texel<T>::component;
    static_assert(__is_same(C, float) || sizeof(C) <= 2, "textures of 32-bit integers cannot be read as normalised floats");
    static constexpr bool is_signed = (C)-1 < (C)0;
    static constexpr superstep_components components = __is_same(C, float) ? SUPERSTEP_FLOATS
        : sizeof(C) == 1 ? is_signed ? SUPERSTEP_CHARS : SUPERSTEP_UNSIGNED_CHARS : is_signed ? SUPERSTEP_SHORTS : SUPERSTEP_UNSIGNED_SHORTS;
};

/* Device code: one function for each kind of texture. */
#define SUPERSTEP_FETCH(NAME, KIND, PARAMETERS, PLACE) \
    template <class T, cudaTextureReadMode mode> \
    __device__ inline typename superstep_reads<T, mode>::type NAME(const texture<T, KIND, mode> &reference, SUPERSTEP_UNPACK PARAMETERS) { \
        const superstep_texture_view &view = reference.superstep_view; \
        return superstep_read<typename superstep_reads<T, mode>::type, T>(view, superstep_reads<T, mode>::components, SUPERSTEP_UNPACK PLACE); \
    }
#define SUPERSTEP_UNPACK(...) __VA_ARGS__
#define SUPERSTEP_PLACES(DIMENSIONS, ...) (superstep_places<DIMENSIONS>(view, __VA_ARGS__))
SUPERSTEP_FETCH(tex1Dfetch, cudaTextureType1D, (int x), (x))
SUPERSTEP_FETCH(tex1D, cudaTextureType1D, (float x), SUPERSTEP_PLACES(1, x, 0, 0))
SUPERSTEP_FETCH(tex2D, cudaTextureType2D, (float x, float y), SUPERSTEP_PLACES(2, x, y, 0))
SUPERSTEP_FETCH(tex3D, cudaTextureType3D, (float x, float y, float z), SUPERSTEP_PLACES(3, x, y, z))
SUPERSTEP_FETCH(tex1DLayered, cudaTextureType1DLayered, (float x, int layer), SUPERSTEP_PLACES(1, x, 0, 0, true, layer))
SUPERSTEP_FETCH(tex2DLayered, cudaTextureType2DLayered, (float x, float y, int layer), SUPERSTEP_PLACES(2, x, y, 0, true, layer))
#undef SUPERSTEP_PLACES
#undef SUPERSTEP_UNPACK
#undef SUPERSTEP_TEXTURE
#undef SUPERSTEP_REFERENCE
#undef SUPERSTEP_FETCH

#endif
