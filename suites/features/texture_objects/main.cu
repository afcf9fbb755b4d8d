// Texture objects: linear memory, pitched rows, two- and three-dimensional arrays; element and normalised reads, both filters,
// normalised coordinates. Each result is compared with the value that follows from the coordinates.
#include "reader.h"
#include <cmath>
#include <cstdio>
#include <vector>

constexpr int width = 32, height = 8, depth = 4, count = 32;
static bool failed = false;

static void succeed(cudaError_t status, const char *what) {
    if (status == cudaSuccess) return;
    printf("%s: %s\n", what, cudaGetErrorString(status));
    failed = true;
}
#define SUCCEED(call) succeed((call), #call)
static void expect(bool holds, const char *what, int i) {
    if (holds) return;
    printf("at %d: expected %s\n", i, what);
    failed = true;
}
#define EXPECT(condition) expect((condition), #condition, i)

struct Textures {
    cudaTextureObject_t rows, colours, field, wrapped, volume, layers;
};
struct Results {
    float *rows, *field, *wrapped, *volume;
    float4 *colours;
    int *layers;
};

__global__ void sample(Textures textures, Results results) {
    const int i = threadIdx.x;
    results.rows[i] = tex2D<float>(textures.rows, i + 0.5f, i % height + 0.5f);
    results.colours[i] = tex1Dfetch<float4>(textures.colours, i);
    results.field[i] = tex2D<float>(textures.field, i + 1.0f, 2.5f);                 // halfway between two texels
    results.wrapped[i] = tex2DLod<float>(textures.wrapped, (i + 0.5f) / width + 3, 0.5f / height, 0.0f);
    tex3D(results.volume + i, textures.volume, i + 0.5f, 1.5f, i % depth + 0.5f);
    results.layers[i] = tex2DLayered<int>(textures.layers, i + 0.5f, 0.5f, i % depth);
}

static float value(int x, int y, int z) { return (float)(x + 100 * y + 1000 * z); }

static cudaTextureObject_t create(const cudaResourceDesc &resource, cudaTextureReadMode mode = cudaReadModeElementType,
                                  cudaTextureFilterMode filter = cudaFilterModePoint, bool is_normalized = false) {
    cudaTextureDesc description{};
    for (cudaTextureAddressMode &address : description.addressMode) address = is_normalized ? cudaAddressModeWrap : cudaAddressModeClamp;
    description.readMode = mode;
    description.filterMode = filter;
    description.normalizedCoords = is_normalized;
    cudaTextureObject_t object = 0;
    SUCCEED(cudaCreateTextureObject(&object, &resource, &description, nullptr));
    return object;
}
template <class T> static cudaResourceDesc linear(T *data, size_t bytes) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = data;
    resource.res.linear.desc = cudaCreateChannelDesc<T>();
    resource.res.linear.sizeInBytes = bytes;
    return resource;
}
static cudaResourceDesc whole(cudaArray_t array) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}
template <class T> static T *results() {
    T *device = nullptr;
    SUCCEED(cudaMalloc(&device, count * sizeof(T)));
    return device;
}
template <class T> static std::vector<T> download(T *device) {
    std::vector<T> host(count);
    SUCCEED(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    SUCCEED(cudaFree(device));
    return host;
}

int main() {
    std::vector<float> image(width * height * depth);
    std::vector<int> numbers(width * height * depth);
    std::vector<uchar4> colours(count);
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) numbers[(z * height + y) * width + x] = (int)(image[(z * height + y) * width + x] = value(x, y, z));
    for (int i = 0; i < count; i++) colours[i] = make_uchar4(i, 255 - i, 0, 255);

    float *rows = nullptr;
    size_t pitch = 0;
    SUCCEED(cudaMallocPitch(&rows, &pitch, width * sizeof(float), height));
    SUCCEED(cudaMemcpy2D(rows, pitch, image.data(), width * sizeof(float), width * sizeof(float), height, cudaMemcpyHostToDevice));
    uchar4 *device_colours = results<uchar4>();
    SUCCEED(cudaMemcpy(device_colours, colours.data(), count * sizeof(uchar4), cudaMemcpyHostToDevice));
    int *line = results<int>();
    SUCCEED(cudaMemcpy(line, numbers.data(), count * sizeof(int), cudaMemcpyHostToDevice));

    cudaArray_t field, volume, layers;
    const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>(), integers = cudaCreateChannelDesc<int>();
    SUCCEED(cudaMallocArray(&field, &floats, width, height));
    SUCCEED(cudaMemcpy2DToArray(field, 0, 0, image.data(), width * sizeof(float), width * sizeof(float), height, cudaMemcpyHostToDevice));
    SUCCEED(cudaMalloc3DArray(&volume, &floats, make_cudaExtent(width, height, depth)));
    SUCCEED(cudaMalloc3DArray(&layers, &integers, make_cudaExtent(width, height, depth), cudaArrayLayered));
    cudaMemcpy3DParms copy{};
    copy.extent = make_cudaExtent(width, height, depth);
    copy.kind = cudaMemcpyHostToDevice;
    copy.srcPtr = make_cudaPitchedPtr(image.data(), width * sizeof(float), width, height);
    copy.dstArray = volume;
    SUCCEED(cudaMemcpy3D(&copy));
    copy.srcPtr = make_cudaPitchedPtr(numbers.data(), width * sizeof(int), width, height);
    copy.dstArray = layers;
    SUCCEED(cudaMemcpy3D(&copy));

    cudaResourceDesc pitched{};
    pitched.resType = cudaResourceTypePitch2D;
    pitched.res.pitch2D = {rows, floats, width, height, pitch};
    Textures textures{create(pitched),
                      create(linear(device_colours, count * sizeof(uchar4)), cudaReadModeNormalizedFloat),
                      create(whole(field), cudaReadModeElementType, cudaFilterModeLinear),
                      create(whole(field), cudaReadModeElementType, cudaFilterModePoint, true),
                      create(whole(volume)),
                      create(whole(layers))};
    Results device{results<float>(), results<float>(), results<float>(), results<float>(), results<float4>(), results<int>()};
    sample<<<1, count>>>(textures, device);
    SUCCEED(cudaGetLastError());
    const auto row = download(device.rows), between = download(device.field), wrapped = download(device.wrapped), solid = download(device.volume);
    const auto colour = download(device.colours);
    const auto layer = download(device.layers);
    for (int i = 0; i < count; i++) {
        EXPECT(row[i] == value(i, i % height, 0));
        EXPECT(std::fabs(colour[i].x - i / 255.0f) < 1e-6f && std::fabs(colour[i].y - (255 - i) / 255.0f) < 1e-6f && colour[i].w == 1);
        EXPECT(between[i] == (i == width - 1 ? value(i, 2, 0) : value(i, 2, 0) + 0.5f));
        EXPECT(wrapped[i] == value(i, 0, 0));
        EXPECT(solid[i] == value(i, 1, i % depth));
        EXPECT(layer[i] == (int)value(i, 0, i % depth));
    }

    const cudaTextureObject_t numbers_line = create(linear(line, count * sizeof(int)));
    int *out = results<int>();
    SUCCEED(read_line(numbers_line, out, count));
    const auto shifted = download(out);
    for (int i = 0; i < count; i++) EXPECT(shifted[i] == (i < 4 ? 0 : i - 4));

    cudaResourceDesc known{};
    SUCCEED(cudaGetTextureObjectResourceDesc(&known, numbers_line));
    const int i = 0;
    EXPECT(known.res.linear.devPtr == line);
    SUCCEED(cudaDestroyTextureObject(numbers_line));
    EXPECT(cudaGetTextureObjectResourceDesc(&known, numbers_line) == cudaErrorInvalidValue);
    EXPECT(create(linear(line, count * sizeof(int))) == numbers_line);
    for (cudaTextureObject_t object : {textures.rows, textures.colours, textures.field, textures.wrapped, textures.volume, textures.layers})
        SUCCEED(cudaDestroyTextureObject(object));
    for (cudaArray_t array : {field, volume, layers}) SUCCEED(cudaFreeArray(array));
    printf(failed ? "FAILED\n" : "PASSED\n");
    return failed;
}
