/* Texture objects as descriptions of plain memory, so that each texel read is a load from global memory, traced like any
   other. Included before the CUDA sources of programs that use them. A handle is an index, from 1, into a table in constant memory; each
   translation unit has a copy of the table, and creating an object writes it to all copies. */
#ifndef SUPERSTEP_TEXTURE_OBJECTS_H
#define SUPERSTEP_TEXTURE_OBJECTS_H

#include "linear_arrays.h"
#include "texels.h"

struct superstep_texture_object {
    superstep_texture_view view;
    superstep_components components;
    int component_bytes, channels;
    bool is_signed;
    /* For a surface: bytes per row, without padding. */
    unsigned int row_used_bytes;
};

/* Maximum number of objects that exist at the same time. */
#define SUPERSTEP_TEXTURE_OBJECTS 64
static __constant__ superstep_texture_object superstep_texture_objects[SUPERSTEP_TEXTURE_OBJECTS];

/* The host's record of an object. */
struct superstep_texture_slot {
    bool is_used;
    cudaResourceDesc resource;
    cudaTextureDesc texture;
};
inline superstep_texture_slot *superstep_texture_slots() {
    static superstep_texture_slot slots[SUPERSTEP_TEXTURE_OBJECTS];
    return slots;
}

/* A list of all translation units' tables, built when the program starts. */
struct superstep_texture_table {
    const void *symbol;
    superstep_texture_table *next;
    static superstep_texture_table *&first() {
        static superstep_texture_table *table = nullptr;
        return table;
    }
    explicit superstep_texture_table(const void *own) : symbol(own), next(first()) { first() = this; }
};
static superstep_texture_table superstep_own_texture_table(superstep_texture_objects);

/* Describes a resource as memory. */
static inline cudaError_t superstep_view_of(const cudaResourceDesc &resource, superstep_texture_view &view, cudaChannelFormatDesc &format) {
    view.height = view.depth = 1;
    if (resource.resType == cudaResourceTypeLinear) {
        const auto &linear = resource.res.linear;
        format = linear.desc;
        const size_t texel_bytes = superstep_element_bytes(format);
        if (texel_bytes == 0) return cudaErrorInvalidChannelDescriptor;
        view.data = linear.devPtr;
        view.width = (unsigned int)(linear.sizeInBytes / texel_bytes);
        view.row_bytes = view.slice_bytes = linear.sizeInBytes;
        return cudaSuccess;
    }
    if (resource.resType == cudaResourceTypePitch2D) {
        const auto &rows = resource.res.pitch2D;
        format = rows.desc;
        view.data = rows.devPtr;
        view.width = (unsigned int)rows.width;
        view.height = (unsigned int)rows.height;
        view.row_bytes = rows.pitchInBytes;
        view.slice_bytes = rows.pitchInBytes * rows.height;
        return cudaSuccess;
    }
    /* Mipmapped arrays are not supported. */
    if (resource.resType != cudaResourceTypeArray) return cudaErrorNotSupported;
    const superstep_array *array = superstep_array::of(resource.res.array.array);
    if (array == nullptr) return cudaErrorInvalidResourceHandle;
    format = array->format;
    view.data = array->data;
    view.width = (unsigned int)array->extent.width;
    view.height = (unsigned int)array->rows();
    view.depth = (unsigned int)array->planes();
    view.row_bytes = array->row_bytes;
    view.slice_bytes = array->flags & cudaArrayLayered && array->extent.height == 0 ? array->row_bytes : array->row_bytes * array->rows();
    return cudaSuccess;
}

/* Stores an object in every table, and its handle in `place`. */
static inline cudaError_t superstep_place_object(const superstep_texture_object &object, const cudaResourceDesc &resource, const cudaTextureDesc &texture,
                                                 unsigned long long *place) {
    superstep_texture_slot *slots = superstep_texture_slots();
    for (int slot = 0; slot < SUPERSTEP_TEXTURE_OBJECTS; slot++) {
        if (slots[slot].is_used) continue;
        for (superstep_texture_table *table = superstep_texture_table::first(); table != nullptr; table = table->next) {
            const cudaError_t status = cudaMemcpyToSymbol(table->symbol, &object, sizeof(object), slot * sizeof(object), cudaMemcpyHostToDevice);
            if (status != cudaSuccess) return status;
        }
        slots[slot] = {true, resource, texture};
        *place = (unsigned long long)slot + 1;
        return cudaSuccess;
    }
    return cudaErrorMemoryAllocation;
}

static inline cudaError_t superstep_create_texture_object(cudaTextureObject_t *place, const cudaResourceDesc *resource, const cudaTextureDesc *texture,
                                                          const cudaResourceViewDesc *other_view = nullptr) {
    if (place == nullptr || resource == nullptr || texture == nullptr) return cudaErrorInvalidValue;
    /* Views in other formats, border colours and sRGB need texture hardware. */
    if (other_view != nullptr || texture->sRGB) return cudaErrorNotSupported;
    for (int i = 0; i < 4; i++)
        if (texture->borderColor[i] != 0) return cudaErrorNotSupported;
    superstep_texture_object object{};
    cudaChannelFormatDesc format{};
    const cudaError_t status = superstep_view_of(*resource, object.view, format);
    if (status != cudaSuccess) return status;
    object.is_signed = format.f == cudaChannelFormatKindSigned;
    object.channels = format.y == 0 ? 1 : format.z == 0 ? 2 : 4;
    const bool returns_floats = format.f == cudaChannelFormatKindFloat || (texture->readMode == cudaReadModeNormalizedFloat && format.x <= 16);
    if (texture->filterMode == cudaFilterModeLinear && resource->resType != cudaResourceTypeLinear && !returns_floats) return cudaErrorInvalidFilterSetting;
    object.component_bytes = format.x / 8;
    if (format.f == cudaChannelFormatKindFloat) {
        if (format.x != 16 && format.x != 32) return cudaErrorNotSupported;
        object.components = format.x == 16 ? SUPERSTEP_HALVES : SUPERSTEP_FLOATS;
    } else if (!object.is_signed && format.f != cudaChannelFormatKindUnsigned) {
        return cudaErrorNotSupported;
    } else if (texture->readMode == cudaReadModeNormalizedFloat) {
        if (format.x != 8 && format.x != 16) return cudaErrorInvalidNormSetting;
        if (format.x == 8) object.components = object.is_signed ? SUPERSTEP_CHARS : SUPERSTEP_UNSIGNED_CHARS;
        else object.components = object.is_signed ? SUPERSTEP_SHORTS : SUPERSTEP_UNSIGNED_SHORTS;
    }
    for (int i = 0; i < 3; i++) object.view.address_mode[i] = texture->addressMode[i];
    object.view.filter_mode = texture->filterMode;
    object.view.is_normalized = texture->normalizedCoords != 0;
    return superstep_place_object(object, *resource, *texture, place);
}

static inline superstep_texture_slot *superstep_texture_slot_of(cudaTextureObject_t handle) {
    if (handle == 0 || handle > SUPERSTEP_TEXTURE_OBJECTS) return nullptr;
    superstep_texture_slot *slot = superstep_texture_slots() + (handle - 1);
    return slot->is_used ? slot : nullptr;
}
static inline cudaError_t superstep_destroy_texture_object(cudaTextureObject_t handle) {
    if (handle == 0) return cudaSuccess;
    superstep_texture_slot *slot = superstep_texture_slot_of(handle);
    if (slot == nullptr) return cudaErrorInvalidValue;
    slot->is_used = false;
    return cudaSuccess;
}
static inline cudaError_t superstep_texture_object_resource(cudaResourceDesc *resource, cudaTextureObject_t handle) {
    const superstep_texture_slot *slot = superstep_texture_slot_of(handle);
    if (slot == nullptr || resource == nullptr) return cudaErrorInvalidValue;
    *resource = slot->resource;
    return cudaSuccess;
}
static inline cudaError_t superstep_texture_object_texture(cudaTextureDesc *texture, cudaTextureObject_t handle) {
    const superstep_texture_slot *slot = superstep_texture_slot_of(handle);
    if (slot == nullptr || texture == nullptr) return cudaErrorInvalidValue;
    *texture = slot->texture;
    return cudaSuccess;
}
/* Texel types with unsigned components of `bytes` bytes each; reads convert them to floats. */
template <int bytes, int count> struct superstep_stored;
#define SUPERSTEP_STORED(BYTES, SCALAR, PREFIX) \
    template <> struct superstep_stored<BYTES, 1> { using type = SCALAR; }; \
    template <> struct superstep_stored<BYTES, 2> { using type = PREFIX##2; }; \
    template <> struct superstep_stored<BYTES, 4> { using type = PREFIX##4; };
SUPERSTEP_STORED(1, unsigned char, uchar)
SUPERSTEP_STORED(2, unsigned short, ushort)
#undef SUPERSTEP_STORED

/* Loads a texel of any type, and converts its components to 32-bit numbers. */
SUPERSTEP_OUT_OF_LINE uint4 superstep_components_at(const superstep_texture_object &object, const char *place) {
    unsigned __int128 texel;
    switch (object.component_bytes * object.channels) {
        case 1: texel = superstep_load<unsigned char>(place); break;
        case 2: texel = superstep_load<unsigned short>(place); break;
        case 4: texel = superstep_load<unsigned int>(place); break;
        case 8: texel = *reinterpret_cast<const unsigned long long *>(place); break;
        default: texel = *reinterpret_cast<const unsigned __int128 *>(place);
    }
    const int bits = 8 * object.component_bytes;
    const unsigned int mask = 0xffffffff >> (32 - bits);
    return {(unsigned int)texel & mask, (unsigned int)(texel >> bits) & mask, (unsigned int)(texel >> 2 * bits) & mask,
            (unsigned int)(texel >> 3 * bits % 128) & mask};
}
/* Returns a texel as texture hardware does, whatever type the program reads: four 32-bit numbers, 0 for missing components. */
template <class Place> SUPERSTEP_OUT_OF_LINE uint4 superstep_registers(const superstep_texture_object &object, const Place &at) {
    const auto load = [&](const char *place) { return superstep_components_at(object, place); };
    const unsigned int texel_bytes = object.component_bytes * object.channels;
    unsigned int result[4];
    if (object.component_bytes == 4 || object.components != SUPERSTEP_FLOATS) {
        const float4 texel = superstep_read_by<float4, uint4>(object.view, object.components, at, texel_bytes, load);
        const float floats[4] = {texel.x, texel.y, texel.z, texel.w};
        for (int i = 0; i < 4; i++) result[i] = __float_as_uint(floats[i]);
    } else {
        const uint4 texel = superstep_read_by<uint4, uint4>(object.view, SUPERSTEP_FLOATS, at, texel_bytes, load);
        const unsigned int numbers[4] = {texel.x, texel.y, texel.z, texel.w};
        const int unused_bits = 32 - 8 * object.component_bytes;
        for (int i = 0; i < 4; i++) result[i] = object.is_signed ? (int)(numbers[i] << unused_bits) >> unused_bits : numbers[i];
    }
    for (int i = object.channels; i < 4; i++) result[i] = 0;
    return {result[0], result[1], result[2], result[3]};
}

template <class R, class Place> __device__ inline R superstep_read_object(const superstep_texture_object &object, const Place &place) {
    using Component = typename superstep_texel<R>::component;
    constexpr int count = superstep_texel<R>::count;
    if (object.channels == count) {
        if constexpr (__is_same(Component, float)) {
            const bool is_converted = object.components != SUPERSTEP_FLOATS;
            if (object.component_bytes == 1 && is_converted) return superstep_read<R, typename superstep_stored<1, count>::type>(object.view, object.components, place);
            if (object.component_bytes == 2 && is_converted) return superstep_read<R, typename superstep_stored<2, count>::type>(object.view, object.components, place);
            if (object.component_bytes == 4) return superstep_read<R, R>(object.view, SUPERSTEP_FLOATS, place);
        } else if (object.component_bytes == sizeof(Component) && object.components == SUPERSTEP_FLOATS && object.view.filter_mode == cudaFilterModePoint) {
            return superstep_read<R, R>(object.view, SUPERSTEP_FLOATS, place);
        }
    }
    const uint4 registers = superstep_registers(object, place);
    const unsigned int all[4] = {registers.x, registers.y, registers.z, registers.w};
    R result;
    for (int i = 0; i < count; i++) __builtin_memcpy(reinterpret_cast<Component *>(&result) + i, &all[i], sizeof(Component));
    return result;
}

/* Device code. Each function returns the texel, or writes it to its first argument. */
#define SUPERSTEP_UNPACK(...) __VA_ARGS__
#define SUPERSTEP_OBJECT_FUNCTION(NAME, PARAMETERS, ARGUMENTS, PLACE) \
    template <class T> __device__ inline T superstep_##NAME(cudaTextureObject_t handle, SUPERSTEP_UNPACK PARAMETERS) { \
        const superstep_texture_object &object = superstep_texture_objects[handle - 1]; \
        return superstep_read_object<T>(object, SUPERSTEP_UNPACK PLACE); \
    } \
    template <class T> __device__ inline void superstep_##NAME(T *result, cudaTextureObject_t handle, SUPERSTEP_UNPACK PARAMETERS) { \
        *result = superstep_##NAME<T>(handle, SUPERSTEP_UNPACK ARGUMENTS); \
    }
#define SUPERSTEP_PLACES(DIMENSIONS, ...) (superstep_places<DIMENSIONS>(object.view, __VA_ARGS__))
SUPERSTEP_OBJECT_FUNCTION(tex1Dfetch, (int x), (x), (x))
SUPERSTEP_OBJECT_FUNCTION(tex1D, (float x), (x), SUPERSTEP_PLACES(1, x, 0, 0))
SUPERSTEP_OBJECT_FUNCTION(tex2D, (float x, float y), (x, y), SUPERSTEP_PLACES(2, x, y, 0))
SUPERSTEP_OBJECT_FUNCTION(tex3D, (float x, float y, float z), (x, y, z), SUPERSTEP_PLACES(3, x, y, z))
SUPERSTEP_OBJECT_FUNCTION(tex1DLayered, (float x, int layer), (x, layer), SUPERSTEP_PLACES(1, x, 0, 0, true, layer))
SUPERSTEP_OBJECT_FUNCTION(tex2DLayered, (float x, float y, int layer), (x, y, layer), SUPERSTEP_PLACES(2, x, y, 0, true, layer))
/* Without mipmaps, there is only one level. */
SUPERSTEP_OBJECT_FUNCTION(tex1DLod, (float x, float level), (x, level), SUPERSTEP_PLACES(1, x, 0, 0))
SUPERSTEP_OBJECT_FUNCTION(tex2DLod, (float x, float y, float level), (x, y, level), SUPERSTEP_PLACES(2, x, y, 0))
SUPERSTEP_OBJECT_FUNCTION(tex3DLod, (float x, float y, float z, float level), (x, y, z, level), SUPERSTEP_PLACES(3, x, y, z))
#undef SUPERSTEP_PLACES
#undef SUPERSTEP_OBJECT_FUNCTION
#undef SUPERSTEP_UNPACK

/* Redirects the program's calls from here on. */
#define tex1Dfetch superstep_tex1Dfetch
#define tex1D superstep_tex1D
#define tex2D superstep_tex2D
#define tex3D superstep_tex3D
#define tex1DLayered superstep_tex1DLayered
#define tex2DLayered superstep_tex2DLayered
#define tex1DLod superstep_tex1DLod
#define tex2DLod superstep_tex2DLod
#define tex3DLod superstep_tex3DLod
#define cudaCreateTextureObject superstep_create_texture_object
#define cudaDestroyTextureObject superstep_destroy_texture_object
#define cudaGetTextureObjectResourceDesc superstep_texture_object_resource
#define cudaGetTextureObjectTextureDesc superstep_texture_object_texture

#include "surface_objects.h"

#endif
