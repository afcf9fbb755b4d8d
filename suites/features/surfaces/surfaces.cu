// Surface objects: one-, two- and three-dimensional arrays, layered arrays, elements of various types, and out-of-bounds accesses. A
// texture object reads the values that a surface wrote.
#include <cstdio>
#include <cuda_runtime.h>
static bool failed = false;
static void expect(bool holds, const char *what, int line) {
    if (holds) return;
    printf("line %d: expected %s (%s)\n", line, what, cudaGetErrorName(cudaGetLastError()));
    failed = true;
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)
#define WORKS(call) EXPECT((call) == cudaSuccess)

constexpr int width = 24, height = 16, depth = 3;

__global__ void write(cudaSurfaceObject_t line, cudaSurfaceObject_t plane, cudaSurfaceObject_t box, cudaSurfaceObject_t layers) {
    int x = threadIdx.x, y = blockIdx.x;
    if (y == 0) surf1Dwrite<short>(x * 3, line, x * sizeof(short));
    surf2Dwrite(make_float4(x, y, x + y, 1), plane, x * sizeof(float4), y);
    // Out-of-bounds writes have no effect.
    surf2Dwrite(make_float4(9, 9, 9, 9), plane, (x + width) * sizeof(float4), y, cudaBoundaryModeZero);
    for (int z = 0; z < depth; z++) {
        surf3Dwrite(x + 100 * y + 10000 * z, box, x * sizeof(int), y, z);
        surf2DLayeredwrite((unsigned char)(x + y + z), layers, x, y, z);
    }
}

__global__ void read(cudaSurfaceObject_t line, cudaSurfaceObject_t plane, cudaSurfaceObject_t box, cudaSurfaceObject_t layers, cudaTextureObject_t texture, int *out) {
    int x = threadIdx.x, y = blockIdx.x, wrong = 0;
    wrong += surf1Dread<short>(line, x * sizeof(short)) != x * 3;
    wrong += surf1Dread<short>(line, (x + width) * sizeof(short), cudaBoundaryModeClamp) != (width - 1) * 3;
    float4 element;
    surf2Dread(&element, plane, x * sizeof(float4), y);
    wrong += element.x != x || element.y != y || element.z != x + y || element.w != 1;
    element = surf2Dread<float4>(plane, x * sizeof(float4), y - height, cudaBoundaryModeZero);
    wrong += element.w != 0;
    for (int z = 0; z < depth; z++) {
        wrong += surf3Dread<int>(box, x * sizeof(int), y, z) != x + 100 * y + 10000 * z;
        wrong += surf2DLayeredread<unsigned char>(layers, x, y, z) != x + y + z;
    }
    wrong += tex2D<float4>(texture, x + 0.5f, y + 0.5f).z != x + y;
    out[y * width + x] = wrong;
}

template <class T> static cudaSurfaceObject_t surface(cudaArray_t *array, cudaExtent extent, unsigned flags = 0) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    WORKS(cudaMalloc3DArray(array, &format, extent, cudaArraySurfaceLoadStore | flags));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = *array;
    cudaSurfaceObject_t object = 0;
    WORKS(cudaCreateSurfaceObject(&object, &resource));
    return object;
}

int main() {
    cudaArray_t arrays[4];
    int *out, host[width * height];
    WORKS(cudaMalloc(&out, sizeof host));
    cudaSurfaceObject_t line = surface<short>(&arrays[0], make_cudaExtent(width, 0, 0));
    cudaSurfaceObject_t plane = surface<float4>(&arrays[1], make_cudaExtent(width, height, 0));
    cudaSurfaceObject_t box = surface<int>(&arrays[2], make_cudaExtent(width, height, depth));
    cudaSurfaceObject_t layers = surface<unsigned char>(&arrays[3], make_cudaExtent(width, height, depth), cudaArrayLayered);
    cudaResourceDesc resource;
    WORKS(cudaGetSurfaceObjectResourceDesc(&resource, plane));
    cudaTextureDesc description = {};
    cudaTextureObject_t texture = 0;
    WORKS(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    write<<<height, width>>>(line, plane, box, layers);
    read<<<height, width>>>(line, plane, box, layers, texture, out);
    WORKS(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int wrong : host) EXPECT(wrong == 0);
    float4 row[width];
    WORKS(cudaMemcpy2DFromArray(row, sizeof row, arrays[1], 0, 5, sizeof row, 1, cudaMemcpyDeviceToHost));
    EXPECT(row[7].x == 7 && row[7].y == 5);
    for (cudaSurfaceObject_t object : {line, plane, box, layers}) WORKS(cudaDestroySurfaceObject(object));
    for (cudaArray_t array : arrays) WORKS(cudaFreeArray(array));
    printf(failed ? "FAILED\n" : "PASSED\n");
    return failed;
}
