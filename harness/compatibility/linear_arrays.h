/* CUDA arrays as linear memory, for programs with textures: row by row, plane by plane. The CUDA runtime's array layout is undocumented,
 * and only texture hardware, which cannot be traced, reads such arrays. */
#ifndef SUPERSTEP_LINEAR_ARRAYS_H
#define SUPERSTEP_LINEAR_ARRAYS_H

#include <cuda_runtime.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the size in bytes of an element with these channels. */
static inline size_t superstep_element_bytes(const cudaChannelFormatDesc &format) {
    return (size_t)(format.x + format.y + format.z + format.w) / 8;
}

/* The object behind a program's `cudaArray`. */
struct superstep_array {
    static constexpr uint64_t mark = 0x7961727261737374;
    /* Row alignment in bytes, the same on every device so that accesses have the same offsets. */
    static constexpr size_t row_alignment_bytes = 512;

    uint64_t own_mark = mark;
    char *data = nullptr;
    size_t row_bytes = 0;
    size_t element_bytes = 0;
    cudaExtent extent{};   /* in elements; 0 for missing dimensions */
    cudaChannelFormatDesc format{};
    unsigned int flags = 0;

    size_t rows() const { return extent.height > 0 ? extent.height : 1; }
    size_t planes() const { return extent.depth > 0 ? extent.depth : 1; }
    size_t width_bytes() const { return extent.width * element_bytes; }
    char *at(size_t x_bytes, size_t y, size_t z) const { return data + (z * rows() + y) * row_bytes + x_bytes; }
    /* Returns the array behind a handle, or null if it was not created here. */
    static superstep_array *of(cudaArray_const_t handle) {
        superstep_array *array = reinterpret_cast<superstep_array *>(const_cast<cudaArray *>(handle));
        return array != nullptr && array->own_mark == mark ? array : nullptr;
    }
};

static inline cudaError_t superstep_malloc_3d_array(cudaArray_t *place, const cudaChannelFormatDesc *format, cudaExtent extent, unsigned int flags = 0) {
    if (place == nullptr || format == nullptr || extent.width == 0 || superstep_element_bytes(*format) == 0) return cudaErrorInvalidValue;
    superstep_array *array = new superstep_array;
    array->format = *format;
    array->extent = extent;
    array->flags = flags;
    array->element_bytes = superstep_element_bytes(*format);
    const size_t alignment = superstep_array::row_alignment_bytes;
    array->row_bytes = (array->width_bytes() + alignment - 1) / alignment * alignment;
    const cudaError_t status = cudaMalloc((void **)&array->data, array->row_bytes * array->rows() * array->planes());
    if (status != cudaSuccess) {
        delete array;
        return status;
    }
    *place = reinterpret_cast<cudaArray_t>(array);
    return cudaSuccess;
}

static inline cudaError_t superstep_malloc_array(cudaArray_t *place, const cudaChannelFormatDesc *format, size_t width, size_t height = 0,
                                                 unsigned int flags = 0) {
    return superstep_malloc_3d_array(place, format, make_cudaExtent(width, height, 0), flags);
}

static inline cudaError_t superstep_free_array(cudaArray_t handle) {
    if (handle == nullptr) return cudaSuccess;
    superstep_array *array = superstep_array::of(handle);
    if (array == nullptr) return cudaErrorInvalidResourceHandle;
    const cudaError_t status = cudaFree(array->data);
    array->own_mark = 0;
    delete array;
    return status;
}

static inline cudaError_t superstep_array_get_info(cudaChannelFormatDesc *format, cudaExtent *extent, unsigned int *flags, cudaArray_t handle) {
    const superstep_array *array = superstep_array::of(handle);
    if (array == nullptr) return cudaErrorInvalidResourceHandle;
    if (format != nullptr) *format = array->format;
    if (extent != nullptr) *extent = array->extent;
    if (flags != nullptr) *flags = array->flags;
    return cudaSuccess;
}

static inline cudaError_t superstep_get_channel_desc(cudaChannelFormatDesc *format, cudaArray_const_t handle) {
    return superstep_array_get_info(format, nullptr, nullptr, const_cast<cudaArray_t>(handle));
}

/* Returns whether a rectangle of bytes fits in an array. */
static inline bool superstep_fits(const superstep_array *array, size_t x_bytes, size_t y, size_t width_bytes, size_t height) {
    return array != nullptr && x_bytes <= array->width_bytes() && width_bytes <= array->width_bytes() - x_bytes && y <= array->rows() &&
           height <= array->rows() - y;
}

static inline cudaError_t superstep_copy_2d_to_array(cudaArray_t to, size_t x_bytes, size_t y, const void *from, size_t pitch, size_t width_bytes,
                                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0, bool is_async = false) {
    const superstep_array *array = superstep_array::of(to);
    if (!superstep_fits(array, x_bytes, y, width_bytes, height)) return cudaErrorInvalidValue;
    char *place = array->at(x_bytes, y, 0);
    return is_async ? cudaMemcpy2DAsync(place, array->row_bytes, from, pitch, width_bytes, height, kind, stream)
                    : cudaMemcpy2D(place, array->row_bytes, from, pitch, width_bytes, height, kind);
}
static inline cudaError_t superstep_copy_2d_to_array_async(cudaArray_t to, size_t x_bytes, size_t y, const void *from, size_t pitch,
                                                           size_t width_bytes, size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0) {
    return superstep_copy_2d_to_array(to, x_bytes, y, from, pitch, width_bytes, height, kind, stream, true);
}

static inline cudaError_t superstep_copy_2d_from_array(void *to, size_t pitch, cudaArray_const_t from, size_t x_bytes, size_t y, size_t width_bytes,
                                                       size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0, bool is_async = false) {
    const superstep_array *array = superstep_array::of(from);
    if (!superstep_fits(array, x_bytes, y, width_bytes, height)) return cudaErrorInvalidValue;
    const char *place = array->at(x_bytes, y, 0);
    return is_async ? cudaMemcpy2DAsync(to, pitch, place, array->row_bytes, width_bytes, height, kind, stream)
                    : cudaMemcpy2D(to, pitch, place, array->row_bytes, width_bytes, height, kind);
}
static inline cudaError_t superstep_copy_2d_from_array_async(void *to, size_t pitch, cudaArray_const_t from, size_t x_bytes, size_t y,
                                                             size_t width_bytes, size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0) {
    return superstep_copy_2d_from_array(to, pitch, from, x_bytes, y, width_bytes, height, kind, stream, true);
}

/* Splits consecutive bytes into rows of an array, starting at a position: the rest of a row, whole rows, and part of the last row. */
template <class Copy> static inline cudaError_t superstep_in_rows(const superstep_array *array, size_t x_bytes, size_t y, size_t bytes, Copy copy) {
    for (size_t done = 0; done < bytes;) {
        if (array == nullptr || x_bytes >= array->width_bytes() || y >= array->rows()) return cudaErrorInvalidValue;
        const size_t remaining = bytes - done, row = array->width_bytes();
        const bool is_whole = x_bytes == 0 && remaining >= row;
        const size_t width = is_whole ? row : row - x_bytes < remaining ? row - x_bytes : remaining;
        const size_t height = is_whole ? remaining / row : 1;
        const cudaError_t status = copy(x_bytes, y, done, width, height);
        if (status != cudaSuccess) return status;
        done += width * height;
        y += height;
        x_bytes = 0;
    }
    return cudaSuccess;
}

static inline cudaError_t superstep_copy_to_array(cudaArray_t to, size_t x_bytes, size_t y, const void *from, size_t bytes, cudaMemcpyKind kind,
                                                  cudaStream_t stream = 0, bool is_async = false) {
    return superstep_in_rows(superstep_array::of(to), x_bytes, y, bytes, [&](size_t x, size_t row, size_t done, size_t width, size_t height) {
        return superstep_copy_2d_to_array(to, x, row, (const char *)from + done, width, width, height, kind, stream, is_async);
    });
}
static inline cudaError_t superstep_copy_to_array_async(cudaArray_t to, size_t x_bytes, size_t y, const void *from, size_t bytes,
                                                        cudaMemcpyKind kind, cudaStream_t stream = 0) {
    return superstep_copy_to_array(to, x_bytes, y, from, bytes, kind, stream, true);
}

static inline cudaError_t superstep_copy_from_array(void *to, cudaArray_const_t from, size_t x_bytes, size_t y, size_t bytes, cudaMemcpyKind kind,
                                                    cudaStream_t stream = 0, bool is_async = false) {
    return superstep_in_rows(superstep_array::of(from), x_bytes, y, bytes, [&](size_t x, size_t row, size_t done, size_t width, size_t height) {
        return superstep_copy_2d_from_array((char *)to + done, width, from, x, row, width, height, kind, stream, is_async);
    });
}
static inline cudaError_t superstep_copy_from_array_async(void *to, cudaArray_const_t from, size_t x_bytes, size_t y, size_t bytes,
                                                          cudaMemcpyKind kind, cudaStream_t stream = 0) {
    return superstep_copy_from_array(to, from, x_bytes, y, bytes, kind, stream, true);
}

static inline cudaError_t superstep_copy_2d_between_arrays(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                                           size_t from_y, size_t width_bytes, size_t height,
                                                           cudaMemcpyKind kind = cudaMemcpyDeviceToDevice) {
    const superstep_array *source = superstep_array::of(from);
    if (!superstep_fits(source, from_x, from_y, width_bytes, height)) return cudaErrorInvalidValue;
    return superstep_copy_2d_to_array(to, to_x, to_y, source->at(from_x, from_y, 0), source->row_bytes, width_bytes, height, kind);
}

/* Converts one side of a three-dimensional copy: replaces an array with its memory, and converts its offset to bytes. */
static inline void superstep_open_side(cudaArray_t &handle, cudaPitchedPtr &pointer, cudaPos &position, size_t &element_bytes) {
    const superstep_array *array = superstep_array::of(handle);
    if (array == nullptr) return;
    pointer = make_cudaPitchedPtr(array->data, array->row_bytes, array->width_bytes(), array->rows());
    position.x *= array->element_bytes;
    element_bytes = array->element_bytes;
    handle = nullptr;
}

static inline cudaMemcpy3DParms superstep_linear_3d(const cudaMemcpy3DParms *parameters) {
    cudaMemcpy3DParms linear = *parameters;
    size_t element_bytes = 1;
    superstep_open_side(linear.srcArray, linear.srcPtr, linear.srcPos, element_bytes);
    superstep_open_side(linear.dstArray, linear.dstPtr, linear.dstPos, element_bytes);
    /* If either side is an array, the width counts its elements. */
    linear.extent.width *= element_bytes;
    return linear;
}
static inline cudaError_t superstep_copy_3d(const cudaMemcpy3DParms *parameters) {
    const cudaMemcpy3DParms linear = superstep_linear_3d(parameters);
    return cudaMemcpy3D(&linear);
}
static inline cudaError_t superstep_copy_3d_async(const cudaMemcpy3DParms *parameters, cudaStream_t stream = 0) {
    const cudaMemcpy3DParms linear = superstep_linear_3d(parameters);
    return cudaMemcpy3DAsync(&linear, stream);
}

/* Redirects the program's calls from here on. */
#undef cudaMemcpyToArray
#undef cudaMemcpyFromArray
#undef cudaMemcpyToArrayAsync
#undef cudaMemcpyFromArrayAsync
#undef cudaMemcpy2DToArray
#undef cudaMemcpy2DFromArray
#undef cudaMemcpy2DToArrayAsync
#undef cudaMemcpy2DFromArrayAsync
#undef cudaMemcpy2DArrayToArray
#undef cudaMemcpy3D
#undef cudaMemcpy3DAsync
#define cudaMallocArray superstep_malloc_array
#define cudaMalloc3DArray superstep_malloc_3d_array
#define cudaFreeArray superstep_free_array
#define cudaArrayGetInfo superstep_array_get_info
#define cudaGetChannelDesc superstep_get_channel_desc
#define cudaMemcpyToArray superstep_copy_to_array
#define cudaMemcpyFromArray superstep_copy_from_array
#define cudaMemcpyToArrayAsync superstep_copy_to_array_async
#define cudaMemcpyFromArrayAsync superstep_copy_from_array_async
#define cudaMemcpy2DToArray superstep_copy_2d_to_array
#define cudaMemcpy2DFromArray superstep_copy_2d_from_array
#define cudaMemcpy2DToArrayAsync superstep_copy_2d_to_array_async
#define cudaMemcpy2DFromArrayAsync superstep_copy_2d_from_array_async
#define cudaMemcpy2DArrayToArray superstep_copy_2d_between_arrays
#define cudaMemcpy3D superstep_copy_3d
#define cudaMemcpy3DAsync superstep_copy_3d_async

#endif
