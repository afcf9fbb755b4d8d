/* Surface objects as descriptions of plain memory, in the same table as texture objects, so that kernels read and write elements in
 * global memory. Included after texture_objects.h. */
#ifndef SUPERSTEP_SURFACE_OBJECTS_H
#define SUPERSTEP_SURFACE_OBJECTS_H

static inline cudaError_t superstep_create_surface_object(cudaSurfaceObject_t *place, const cudaResourceDesc *resource) {
    if (place == nullptr || resource == nullptr || resource->resType != cudaResourceTypeArray) return cudaErrorInvalidValue;
    const superstep_array *array = superstep_array::of(resource->res.array.array);
    if (array == nullptr) return cudaErrorInvalidResourceHandle;
    superstep_texture_object object{};
    cudaChannelFormatDesc format{};
    const cudaError_t status = superstep_view_of(*resource, object.view, format);
    if (status != cudaSuccess) return status;
    object.row_used_bytes = object.view.width * superstep_element_bytes(format);
    return superstep_place_object(object, *resource, cudaTextureDesc{}, place);
}

/* Returns the address of an element of `bytes` bytes, or null if it must not be accessed. `x` is in bytes. */
static __device__ inline char *superstep_surface_element(cudaSurfaceObject_t handle, int x, int y, int z, int bytes, cudaSurfaceBoundaryMode mode) {
    const superstep_texture_object &object = superstep_texture_objects[handle - 1];
    const superstep_texture_view &view = object.view;
    const int last[3] = {(int)object.row_used_bytes - bytes, (int)view.height - 1, (int)view.depth - 1};
    int place[3] = {x, y, z};
    for (int i = 0; i < 3; i++) {
        if (place[i] >= 0 && place[i] <= last[i]) continue;
        if (mode == cudaBoundaryModeZero) return nullptr;
        if (mode == cudaBoundaryModeTrap) __trap();
        place[i] = place[i] < 0 ? 0 : last[i];
    }
    return (char *)view.data + place[2] * view.slice_bytes + place[1] * view.row_bytes + place[0];
}

/* Each function returns the element, or writes it to its first argument. */
#define SUPERSTEP_UNPACK(...) __VA_ARGS__
#define SUPERSTEP_SURFACE_FUNCTIONS(NAME, PARAMETERS, ARGUMENTS, X, Y, Z) \
    template <class T> __device__ inline T superstep_##NAME##read(cudaSurfaceObject_t surface, SUPERSTEP_UNPACK PARAMETERS, \
                                                                  cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
        const char *element = superstep_surface_element(surface, X, Y, Z, sizeof(T), mode); \
        return element == nullptr ? T{} : *(const T *)element; \
    } \
    template <class T> __device__ inline void superstep_##NAME##read(T *result, cudaSurfaceObject_t surface, SUPERSTEP_UNPACK PARAMETERS, \
                                                                     cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
        *result = superstep_##NAME##read<T>(surface, SUPERSTEP_UNPACK ARGUMENTS, mode); \
    } \
    template <class T> __device__ inline void superstep_##NAME##write(T value, cudaSurfaceObject_t surface, SUPERSTEP_UNPACK PARAMETERS, \
                                                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
        if (char *element = superstep_surface_element(surface, X, Y, Z, sizeof(T), mode)) *(T *)element = value; \
    }
SUPERSTEP_SURFACE_FUNCTIONS(surf1D, (int x), (x), x, 0, 0)
SUPERSTEP_SURFACE_FUNCTIONS(surf2D, (int x, int y), (x, y), x, y, 0)
SUPERSTEP_SURFACE_FUNCTIONS(surf3D, (int x, int y, int z), (x, y, z), x, y, z)
SUPERSTEP_SURFACE_FUNCTIONS(surf1DLayered, (int x, int layer), (x, layer), x, 0, layer)
SUPERSTEP_SURFACE_FUNCTIONS(surf2DLayered, (int x, int y, int layer), (x, y, layer), x, y, layer)
#undef SUPERSTEP_SURFACE_FUNCTIONS
#undef SUPERSTEP_UNPACK

/* Redirects the program's calls from here on. */
#define surf1Dread superstep_surf1Dread
#define surf2Dread superstep_surf2Dread
#define surf3Dread superstep_surf3Dread
#define surf1DLayeredread superstep_surf1DLayeredread
#define surf2DLayeredread superstep_surf2DLayeredread
#define surf1Dwrite superstep_surf1Dwrite
#define surf2Dwrite superstep_surf2Dwrite
#define surf3Dwrite superstep_surf3Dwrite
#define surf1DLayeredwrite superstep_surf1DLayeredwrite
#define surf2DLayeredwrite superstep_surf2DLayeredwrite
#define cudaCreateSurfaceObject superstep_create_surface_object
#define cudaDestroySurfaceObject superstep_destroy_texture_object
#define cudaGetSurfaceObjectResourceDesc superstep_texture_object_resource

#endif
