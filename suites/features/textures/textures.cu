// Texture references in all supported forms: linear memory, pitched memory, one- to three-dimensional arrays and layered
// arrays; all addressing modes, both filters, both read modes. Each result is compared with the host's formula.
#include "declarations.cuh"
#include <math.h>
#include <stdio.h>
#include <vector>

constexpr int width = 24, height = 10, depth = 6;
constexpr int count = 64; // reads of each kind
static bool failed = false;

static void succeed(cudaError_t status, const char *what) {
    if (status == cudaSuccess) return;
    printf("%s: %s\n", what, cudaGetErrorString(status));
    failed = true;
}
#define SUCCEED(call) succeed((call), #call)

static void expect(bool holds, const char *what) {
    if (holds) return;
    printf("expected %s\n", what);
    failed = true;
}
#define EXPECT(condition) expect((condition), #condition)

// Coordinates from well below 0 to well above 1 (normalised), with few enough bits that no product is rounded.
__host__ __device__ static float coordinate(int i) { return (float)(59 * i - 1331) / 1024; }

__global__ void fetch(float *out, float4 *wide) {
    const int i = threadIdx.x;
    out[i] = tex1Dfetch(linear, i - 8);
    const float4 bytes = tex1Dfetch(bytes_as_floats, i);
    const float2 pair = tex1Dfetch(shorts_as_floats, i);
    wide[i] = make_float4(bytes.x, bytes.w, pair.x, pair.y);
}

__global__ void sample(float *line, float *clamped, float *wrapped, float *mirrored, float *bordered) {
    const int i = threadIdx.x;
    const float at = coordinate(i);
    line[i] = tex1D(smooth_line, at * width);
    clamped[i] = tex2D(image, at * width, at * height);
    wrapped[i] = tex2D(wrapped_image, at, at);
    mirrored[i] = tex2D(mirrored_image, at, 1 - at);
    bordered[i] = tex2D(bordered_image, at * width, at * height);
}

__global__ void sample_more(float *volume, int4 *layered, int *line_layer, uint4 *unbound) {
    const int i = threadIdx.x;
    const float at = coordinate(i);
    volume[i] = tex3D(solid, at * width, at * height, at * depth);
    layered[i] = tex2DLayered(stack, at * width, at * height, i % (depth + 2) - 1);
    line_layer[i] = tex1DLayered(lines, at * width, i % height);
    unbound[i] = tex2D(nothing, 1.0f, 1.0f);
}

// The host's formulas: the index of a texel under an addressing mode, or -1 if it is outside.
enum Mode { CLAMP, WRAP, MIRROR, BORDER };
static int address(int i, int n, Mode mode) {
    if (mode == WRAP) return ((i % n) + n) % n;
    if (mode == MIRROR) {
        const int j = ((i % (2 * n)) + 2 * n) % (2 * n);
        return j < n ? j : 2 * n - 1 - j;
    }
    if (mode == CLAMP) return i < 0 ? 0 : i >= n ? n - 1 : i;
    return i < 0 || i >= n ? -1 : i;
}
static double texel(const std::vector<float> &data, int x, int y, int z, Mode mode) {
    x = address(x, width, mode), y = address(y, height, mode), z = address(z, depth, mode);
    return x < 0 || y < 0 || z < 0 ? 0 : data[(z * height + y) * width + x];
}
// Linear filter in the first `dimensions` dimensions; each dimension's weights are multiples of 1/256. texture_filter shows
// that the hardware filters this way.
static int rounded(int product) { return (product + 128) / 256; }
static double filtered(const std::vector<float> &data, float x, float y, float z, int dimensions, Mode mode) {
    const float at[3] = {x, y, z};
    const int extent[3] = {width, height, depth};
    int first[3] = {}, weight[3] = {};
    for (int d = 0; d < dimensions; d++) {
        const double place = floor(at[d] * 256.0 + 0.5) - 128;
        first[d] = (int)floor(place / 256);
        weight[d] = (int)(place - 256.0 * first[d]);
        if (mode == CLAMP && (first[d] < 0 || first[d] >= extent[d] - 1)) weight[d] = 0;
    }
    double sum = 0;
    for (int up = 0; up < (dimensions == 3 ? 2 : 1); up++) {
        const int plane = dimensions < 3 ? 256 : up ? weight[2] : 256 - weight[2];
        const int right = rounded(plane * weight[0]), left = plane - right;
        const int upper_right = rounded(right * weight[1]), lower_left = rounded(left * (256 - weight[1]));
        const auto at_corner = [&](int right, int upper) { return texel(data, first[0] + right, first[1] + upper, first[2] + up, mode); };
        sum += lower_left * at_corner(0, 0) + (right - upper_right) * at_corner(1, 0) + (left - lower_left) * at_corner(0, 1) +
               upper_right * at_corner(1, 1);
    }
    return sum / 256;
}
static bool near(double a, double b) { return fabs(a - b) <= 1e-4; }

template <class T> static T *device(size_t elements) {
    T *memory = nullptr;
    SUCCEED(cudaMalloc((void **)&memory, elements * sizeof(T)));
    SUCCEED(cudaMemset(memory, 0, elements * sizeof(T)));
    return memory;
}
template <class T> static T *upload(const std::vector<T> &data) {
    T *memory = device<T>(data.size());
    SUCCEED(cudaMemcpy(memory, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}
template <class T> static std::vector<T> download(const T *memory) {
    std::vector<T> data(count);
    SUCCEED(cudaMemcpy(data.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
    return data;
}

static void fetches() {
    std::vector<float> numbers(40);
    std::vector<uchar4> bytes(count);
    std::vector<short2> shorts(count);
    for (int i = 0; i < 40; i++) numbers[i] = 3.0f * i + 1;
    for (int i = 0; i < count; i++) {
        bytes[i] = make_uchar4(i * 4, 1, 2, 255 - i);
        shorts[i] = make_short2(i * 500 - 16000, -32768);
    }
    size_t offset = 1;
    float *d_numbers = upload(numbers);
    SUCCEED(cudaBindTexture(&offset, linear, d_numbers, numbers.size() * sizeof(float)));
    EXPECT(offset == 0);
    cudaChannelFormatDesc wrong = cudaCreateChannelDesc<double>(), format = cudaCreateChannelDesc<uchar4>();
    uchar4 *d_bytes = upload(bytes);
    EXPECT(cudaBindTexture(nullptr, bytes_as_floats, d_bytes, wrong, count * sizeof(uchar4)) == cudaErrorInvalidChannelDescriptor);
    SUCCEED(cudaBindTexture(nullptr, bytes_as_floats, d_bytes, format, count * sizeof(uchar4)));
    const textureReference *reference = nullptr;
    SUCCEED(cudaGetTextureReference(&reference, &shorts_as_floats));
    format = cudaCreateChannelDesc<short2>();
    SUCCEED(cudaBindTexture(nullptr, reference, upload(shorts), &format, count * sizeof(short2)));

    float *out = device<float>(count);
    float4 *wide = device<float4>(count);
    fetch<<<1, count>>>(out, wide);
    const std::vector<float> actual = download(out);
    const std::vector<float4> actual_wide = download(wide);
    for (int i = 0; i < count; i++) {
        EXPECT(actual[i] == (i < 8 || i >= 48 ? 0 : numbers[i - 8]));
        EXPECT(near(actual_wide[i].x, bytes[i].x / 255.0) && near(actual_wide[i].y, bytes[i].w / 255.0));
        EXPECT(near(actual_wide[i].z, shorts[i].x / 32767.0) && actual_wide[i].w == -1);
    }
    // Bound to other memory, then unbound.
    SUCCEED(cudaBindTexture(nullptr, linear, d_numbers + 1, 8 * sizeof(float)));
    fetch<<<1, count>>>(out, wide);
    EXPECT(download(out)[8] == numbers[1] && download(out)[16] == 0);
    SUCCEED(cudaUnbindTexture(linear));
    fetch<<<1, count>>>(out, wide);
    EXPECT(download(out)[8] == 0);
}

static cudaArray_t array_of(const std::vector<float> &data, int columns, int rows) {
    cudaArray_t array = nullptr;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    SUCCEED(cudaMallocArray(&array, &format, columns, rows));
    const size_t bytes = (size_t)columns * (rows > 0 ? rows : 1) * sizeof(float);
    SUCCEED(cudaMemcpyToArray(array, 0, 0, data.data(), bytes, cudaMemcpyHostToDevice));
    return array;
}

static void samples(const std::vector<float> &data) {
    cudaArray_t array = array_of(data, width, height), line = array_of(data, width, 0);
    smooth_line.filterMode = cudaFilterModeLinear;
    SUCCEED(cudaBindTextureToArray(smooth_line, line));
    float *pitched = nullptr;
    size_t pitch = 0;
    SUCCEED(cudaMallocPitch((void **)&pitched, &pitch, width * sizeof(float), height));
    SUCCEED(cudaMemcpy2D(pitched, pitch, data.data(), width * sizeof(float), width * sizeof(float), height, cudaMemcpyHostToDevice));
    SUCCEED(cudaBindTexture2D(nullptr, image, pitched, cudaCreateChannelDesc<float>(), width, height, pitch));
    SUCCEED(cudaBindTextureToArray(wrapped_image, array, cudaCreateChannelDesc<float>()));
    mirrored_image.normalized = true;
    mirrored_image.addressMode[0] = mirrored_image.addressMode[1] = cudaAddressModeMirror;
    SUCCEED(cudaBindTextureToArray(mirrored_image, array));
    bordered_image.addressMode[0] = bordered_image.addressMode[1] = cudaAddressModeBorder;
    SUCCEED(cudaBindTextureToArray(&bordered_image, array, &bordered_image.channelDesc));

    float *out[5];
    for (float *&memory : out) memory = device<float>(count);
    sample<<<1, count>>>(out[0], out[1], out[2], out[3], out[4]);
    std::vector<float> actual[5];
    for (int i = 0; i < 5; i++) actual[i] = download(out[i]);
    for (int i = 0; i < count; i++) {
        const float x = coordinate(i) * width, y = coordinate(i) * height, flipped = (1 - coordinate(i)) * height;
        EXPECT(near(actual[0][i], filtered(data, x, 0, 0, 1, CLAMP)));
        EXPECT(actual[1][i] == texel(data, (int)floorf(x), (int)floorf(y), 0, CLAMP));
        EXPECT(near(actual[2][i], filtered(data, x, y, 0, 2, WRAP)));
        EXPECT(actual[3][i] == texel(data, (int)floorf(x), (int)floorf(flipped), 0, MIRROR));
        EXPECT(near(actual[4][i], filtered(data, x, y, 0, 2, BORDER)));
    }
    std::vector<float> copy(data.size());
    SUCCEED(cudaMemcpyFromArray(copy.data(), array, 4, 2, 30 * sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT(copy[0] == data[2 * width + 1] && copy[29] == data[2 * width + 30]);
    SUCCEED(cudaFreeArray(array));
    SUCCEED(cudaFreeArray(line));
}

static void volumes(const std::vector<float> &data) {
    cudaArray_t volume = nullptr, layers = nullptr, line_layers = nullptr;
    const cudaExtent extent = make_cudaExtent(width, height, depth);
    SUCCEED(cudaMalloc3DArray(&volume, &solid.channelDesc, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr((void *)data.data(), width * sizeof(float), width, height);
    copy.dstArray = volume;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    SUCCEED(cudaMemcpy3D(&copy));
    SUCCEED(cudaBindTextureToArray(solid, volume));

    std::vector<int4> numbers(width * height * depth);
    for (int i = 0; i < width * height * depth; i++) numbers[i] = make_int4(i, -i, 2 * i, 7);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int4>();
    SUCCEED(cudaMalloc3DArray(&layers, &format, extent, cudaArrayLayered));
    copy.srcPtr = make_cudaPitchedPtr(numbers.data(), width * sizeof(int4), width, height);
    copy.dstArray = layers;
    SUCCEED(cudaMemcpy3D(&copy));
    SUCCEED(cudaBindTextureToArray(stack, layers, format));
    std::vector<int> plain(width * height);
    for (int i = 0; i < width * height; i++) plain[i] = 5 * i;
    format = cudaCreateChannelDesc<int>();
    SUCCEED(cudaMalloc3DArray(&line_layers, &format, make_cudaExtent(width, 0, height), cudaArrayLayered));
    copy.srcPtr = make_cudaPitchedPtr(plain.data(), width * sizeof(int), width, 1);
    copy.dstArray = line_layers;
    copy.extent = make_cudaExtent(width, 1, height);
    SUCCEED(cudaMemcpy3D(&copy));
    SUCCEED(cudaBindTextureToArray(lines, line_layers));

    float *out = device<float>(count);
    int4 *layered = device<int4>(count);
    int *line_layer = device<int>(count);
    uint4 *unbound = device<uint4>(count);
    sample_more<<<1, count>>>(out, layered, line_layer, unbound);
    const std::vector<float> actual = download(out);
    const std::vector<int4> actual_layered = download(layered);
    const std::vector<int> actual_line = download(line_layer);
    for (int i = 0; i < count; i++) {
        const float x = coordinate(i) * width, y = coordinate(i) * height, z = coordinate(i) * depth;
        EXPECT(near(actual[i], filtered(data, x, y, z, 3, CLAMP)));
        const int column = address((int)floorf(x), width, CLAMP), row = address((int)floorf(y), height, CLAMP);
        const int layer = i % (depth + 2) == 0 ? depth - 1 : address(i % (depth + 2) - 1, depth, CLAMP); // -1 is a large number
        const int4 texel = numbers[(layer * height + row) * width + column];
        EXPECT(actual_layered[i].x == texel.x && actual_layered[i].y == texel.y && actual_layered[i].z == texel.z && actual_layered[i].w == texel.w);
        EXPECT(actual_line[i] == plain[i % height * width + column]);
        EXPECT(download(unbound)[i].x == 0);
    }
    SUCCEED(cudaUnbindTexture(nothing));
}

int main() {
    std::vector<float> data(width * height * depth);
    for (size_t i = 0; i < data.size(); i++) data[i] = (float)(i * 7919 % 1000) / 8;
    bordered_image.channelDesc = solid.channelDesc = cudaCreateChannelDesc<float>();
    bordered_image.filterMode = cudaFilterModeLinear;
    fetches();
    samples(data);
    volumes(data);
    SUCCEED(cudaDeviceSynchronize());
    puts(failed ? "FAILED" : "PASSED");
    return failed;
}
