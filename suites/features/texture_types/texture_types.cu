// Texture reads of every type: a texel becomes four 32-bit numbers according to its format, and each component of
// the type that is read takes the low bits of one of them. Checked against that rule and the digest of an H200's
// results (driver 580, nvcc 13.0, 2026-11-27).
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define SUCCEED(call) succeed((call), #call)
static void succeed(cudaError_t status, const char *what) {
    if (status == cudaSuccess) return;
    printf("%s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

template <class T> __global__ void read(cudaTextureObject_t image, cudaTextureObject_t line, T *results) {
    results[0] = tex2D<T>(image, 1.5f, 1.5f);
    results[1] = tex1Dfetch<T>(line, 3);
}

struct Format {
    cudaChannelFormatKind kind;
    int bits, channels;
    bool is_normalized;
    int texel_bytes() const { return bits / 8 * channels; }
};

// Texels that are finite when read as halves or floats.
static unsigned char texels[4 * 4 * 16];

static uint32_t number(const Format &format, const unsigned char *component) {
    uint32_t bits = 0;
    memcpy(&bits, component, format.bits / 8);
    float real = 0;
    if (format.kind == cudaChannelFormatKindFloat) {
        if (format.bits == 32) return bits;
        real = (1 + (bits & 1023) / 1024.0f);  // all halves here have an exponent of 0
    } else {
        const int32_t extended = (int32_t)(bits << (32 - format.bits)) >> (32 - format.bits);
        const bool is_signed = format.kind == cudaChannelFormatKindSigned;
        if (!format.is_normalized) return is_signed ? (uint32_t)extended : bits;
        const uint32_t largest = (1u << (format.bits - is_signed)) - 1;
        real = is_signed ? (float)extended / (float)largest : (float)bits / (float)largest;
        if (real < -1) real = -1;
    }
    memcpy(&bits, &real, sizeof(bits));
    return bits;
}

static uint32_t digest = 2166136261u;
static int mismatches = 0;

template <class T, class Component, int count> static void read_as(const Format &format, bool is_linear) {
    const cudaChannelFormatDesc channels = cudaCreateChannelDesc(format.bits, format.channels > 1 ? format.bits : 0, format.channels > 2 ? format.bits : 0,
                                                                 format.channels > 2 ? format.bits : 0, format.kind);
    const int texel_bytes = format.texel_bytes();
    for (size_t i = 0; i < sizeof(texels); i++) texels[i] = (unsigned char)(i * 37 + 129);
    if (format.kind == cudaChannelFormatKindFloat)
        for (size_t i = 0; i < sizeof(texels); i++) {
            if (format.bits == 16 && i % 2 == 1) texels[i] = 0x3c | (texels[i] & 3);
            if (format.bits == 32 && i % 4 == 3) texels[i] = 0x40;
        }
    cudaArray_t array;
    SUCCEED(cudaMallocArray(&array, &channels, 4, 4));
    SUCCEED(cudaMemcpy2DToArray(array, 0, 0, texels, 4 * texel_bytes, 4 * texel_bytes, 4, cudaMemcpyHostToDevice));
    void *memory;
    SUCCEED(cudaMalloc(&memory, 16 * texel_bytes));
    SUCCEED(cudaMemcpy(memory, texels, 16 * texel_bytes, cudaMemcpyHostToDevice));
    cudaTextureDesc description{};
    description.readMode = format.is_normalized ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    description.filterMode = is_linear ? cudaFilterModeLinear : cudaFilterModePoint;
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureObject_t image, line;
    SUCCEED(cudaCreateTextureObject(&image, &resource, &description, nullptr));
    resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {memory, channels, 16 * (size_t)texel_bytes};
    SUCCEED(cudaCreateTextureObject(&line, &resource, &description, nullptr));

    T *results, read_back[2];
    SUCCEED(cudaMalloc((void **)&results, sizeof(read_back)));
    read<<<1, 1>>>(image, line, results);
    SUCCEED(cudaMemcpy(read_back, results, sizeof(read_back), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 2; i++) {
        const unsigned char *texel = texels + (i == 0 ? 5 : 3) * texel_bytes;
        for (int channel = 0; channel < count; channel++) {
            const uint32_t expected = channel < format.channels ? number(format, texel + channel * format.bits / 8) : 0;
            const auto *component = reinterpret_cast<const Component *>(read_back + i) + channel;
            for (size_t byte = 0; byte < sizeof(Component); byte++) digest = (digest ^ reinterpret_cast<const unsigned char *>(component)[byte]) * 16777619u;
            if (memcmp(component, &expected, sizeof(Component)) == 0) continue;
            if (mismatches++ < 20)
                printf("kind %d, %d bits, %d channels, normalized %d, linear %d: channel %d of read %d differs\n", format.kind, format.bits,
                       format.channels, format.is_normalized, is_linear, channel, i);
        }
    }
    SUCCEED(cudaDestroyTextureObject(image));
    SUCCEED(cudaDestroyTextureObject(line));
    SUCCEED(cudaFreeArray(array));
    SUCCEED(cudaFree(memory));
    SUCCEED(cudaFree(results));
}

template <class T, class Component, int count> static void read_all_as() {
    for (int kind : {cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat})
        for (int bits : {8, 16, 32})
            for (int channels : {1, 2, 4})
                for (bool is_normalized : {false, true}) {
                    const bool is_float = kind == cudaChannelFormatKindFloat;
                    if (is_float ? bits == 8 || is_normalized : is_normalized && bits == 32) continue;
                    const Format format{(cudaChannelFormatKind)kind, bits, channels, is_normalized};
                    read_as<T, Component, count>(format, false);
                    if (is_float) read_as<T, Component, count>(format, true);
                }
}

int main() {
    read_all_as<float, float, 1>();
    read_all_as<float2, float, 2>();
    read_all_as<float4, float, 4>();
    read_all_as<int, int, 1>();
    read_all_as<uint2, unsigned int, 2>();
    read_all_as<short, short, 1>();
    read_all_as<ushort4, unsigned short, 4>();
    read_all_as<unsigned char, unsigned char, 1>();
    read_all_as<char4, signed char, 4>();
    // Filtering yields floats, so integer reads cannot use it.
    const cudaChannelFormatDesc numbers = cudaCreateChannelDesc<int>();
    cudaArray_t array;
    SUCCEED(cudaMallocArray(&array, &numbers, 4, 4));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description{};
    description.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t object;
    const cudaError_t refused = cudaCreateTextureObject(&object, &resource, &description, nullptr);
    printf("integer filter: %d\ndigest %08x\nmismatches %d\n", refused, digest, mismatches);
    return mismatches != 0;
}
