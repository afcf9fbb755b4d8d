// Compares texture reads with those of texture hardware, bit for bit. The file `answers.bin` contains textures, each followed by coordinates
// and results; all numbers are 32 bits wide. The results are those of an H200 (driver 580, nvcc 13.0, 2026-11-27). Built with nvcc,
// `texture_filter answers.bin` checks other hardware against them; `texture_filter answers.bin other.bin` also writes a file with its results.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define SUCCEED(call) succeed((call), #call)
static void succeed(cudaError_t status, const char *what) {
    if (status == cudaSuccess) return;
    printf("%s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

// If CUDA has texture references, a reference reads the same texture as the object.
#ifdef SUPERSTEP_TEXTURE_REFERENCES_H
texture<float, 2> image;
__global__ void read_reference(const float *places, float *results) {
    const int i = threadIdx.x;
    results[i] = tex2D(image, places[3 * i], places[3 * i + 1]);
}
#endif

enum Shape { LINE = 1, IMAGE, SOLID, LINES, IMAGES };
enum Format { FLOAT, HALF, CHAR, UNSIGNED_CHAR, SHORT, UNSIGNED_SHORT };

// Header of a texture in the file, followed by texels, three coordinates per read, and the components of the results. Layers count as
// depth; absent dimensions are 0.
struct Texture {
    int shape, width, height, depth;
    int format, components;
    int is_linear, is_normalized, modes[3], is_pitched;
    int reads;

    int component_bytes() const { return format == FLOAT ? 4 : format == HALF || format >= SHORT ? 2 : 1; }
    size_t texel_bytes() const { return (size_t)component_bytes() * components; }
    size_t rows() const { return height > 0 ? height : 1; }
    size_t planes() const { return depth > 0 ? depth : 1; }
    size_t bytes() const { return (width * rows() * planes() * texel_bytes() + 3) / 4 * 4; }
};

template <class T> __global__ void read(cudaTextureObject_t texture, int shape, const float *places, T *results) {
    const int i = threadIdx.x;
    const float x = places[3 * i], y = places[3 * i + 1], z = places[3 * i + 2];
    switch (shape) {
        case LINE: results[i] = tex1D<T>(texture, x); break;
        case IMAGE: results[i] = tex2D<T>(texture, x, y); break;
        case SOLID: results[i] = tex3D<T>(texture, x, y, z); break;
        case LINES: results[i] = tex1DLayered<T>(texture, x, (int)y); break;
        case IMAGES: results[i] = tex2DLayered<T>(texture, x, y, (int)z); break;
    }
}

// Returns the bits of all results of a texture.
static std::vector<uint32_t> results_of(const Texture &texture, const std::vector<char> &texels, const std::vector<float> &places, int number) {
    const size_t row_bytes = texture.width * texture.texel_bytes();
    const int bits = 8 * texture.component_bytes(), other_bits = texture.components > 2 ? bits : 0;
    const bool is_float = texture.format <= HALF, is_unsigned = texture.format == UNSIGNED_CHAR || texture.format == UNSIGNED_SHORT;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc(
        bits, texture.components > 1 ? bits : 0, other_bits, other_bits,
        is_float ? cudaChannelFormatKindFloat : is_unsigned ? cudaChannelFormatKindUnsigned : cudaChannelFormatKindSigned);
    cudaResourceDesc resource{};
    cudaArray_t array = nullptr;
    void *rows = nullptr;
    if (texture.is_pitched) {
        size_t pitch = 0;
        SUCCEED(cudaMallocPitch(&rows, &pitch, row_bytes, texture.height));
        SUCCEED(cudaMemcpy2D(rows, pitch, texels.data(), row_bytes, row_bytes, texture.height, cudaMemcpyHostToDevice));
        resource.resType = cudaResourceTypePitch2D;
        resource.res.pitch2D = {rows, format, (size_t)texture.width, (size_t)texture.height, pitch};
    } else {
        const cudaExtent extent = make_cudaExtent(texture.width, texture.height, texture.depth);
        SUCCEED(cudaMalloc3DArray(&array, &format, extent, texture.shape >= LINES ? cudaArrayLayered : 0));
        cudaMemcpy3DParms copy{};
        copy.srcPtr = make_cudaPitchedPtr((void *)texels.data(), row_bytes, texture.width, texture.rows());
        copy.dstArray = array;
        copy.extent = make_cudaExtent(texture.width, texture.rows(), texture.planes());
        copy.kind = cudaMemcpyHostToDevice;
        SUCCEED(cudaMemcpy3D(&copy));
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
    }
    cudaTextureDesc description{};
    for (int i = 0; i < 3; i++) description.addressMode[i] = (cudaTextureAddressMode)texture.modes[i];
    description.filterMode = texture.is_linear ? cudaFilterModeLinear : cudaFilterModePoint;
    description.readMode = is_float ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
    description.normalizedCoords = texture.is_normalized;
    cudaTextureObject_t object = 0;
    SUCCEED(cudaCreateTextureObject(&object, &resource, &description, nullptr));

    float *device_places = nullptr, *device_results = nullptr;
    std::vector<uint32_t> results(texture.reads * texture.components);
    const size_t result_bytes = results.size() * sizeof(uint32_t);
    SUCCEED(cudaMalloc((void **)&device_places, places.size() * sizeof(float)));
    SUCCEED(cudaMalloc((void **)&device_results, result_bytes));
    SUCCEED(cudaMemcpy(device_places, places.data(), places.size() * sizeof(float), cudaMemcpyHostToDevice));
    if (texture.components == 1) read<<<1, texture.reads>>>(object, texture.shape, device_places, device_results);
    else if (texture.components == 2) read<<<1, texture.reads>>>(object, texture.shape, device_places, (float2 *)device_results);
    else read<<<1, texture.reads>>>(object, texture.shape, device_places, (float4 *)device_results);
    SUCCEED(cudaMemcpy(results.data(), device_results, result_bytes, cudaMemcpyDeviceToHost));
#ifdef SUPERSTEP_TEXTURE_REFERENCES_H
    if (texture.shape == IMAGE && texture.format == FLOAT && texture.components == 1 && !texture.is_pitched) {
        for (int i = 0; i < 3; i++) image.addressMode[i] = description.addressMode[i];
        image.filterMode = description.filterMode;
        image.normalized = texture.is_normalized;
        SUCCEED(cudaBindTextureToArray(image, array));
        SUCCEED(cudaMemset(device_results, 0xff, result_bytes));
        read_reference<<<1, texture.reads>>>(device_places, device_results);
        std::vector<uint32_t> others(results.size());
        SUCCEED(cudaMemcpy(others.data(), device_results, result_bytes, cudaMemcpyDeviceToHost));
        if (others != results) {
            printf("a reference and an object read different values: texture %d\n", number);
            exit(1);
        }
    }
#endif
    SUCCEED(cudaDestroyTextureObject(object));
    if (array != nullptr) SUCCEED(cudaFreeArray(array));
    SUCCEED(cudaFree(rows));
    SUCCEED(cudaFree(device_places));
    SUCCEED(cudaFree(device_results));
    return results;
}

template <class T> static std::vector<T> next(FILE *file, size_t elements) {
    std::vector<T> data(elements);
    if (fread(data.data(), sizeof(T), elements, file) == elements) return data;
    fprintf(stderr, "the answers end in the middle of a texture\n");
    exit(2);
}

int main(int argc, char **argv) {
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : nullptr, *other = argc > 2 ? fopen(argv[2], "wb") : nullptr;
    if (file == nullptr || (argc > 2 && other == nullptr)) {
        fprintf(stderr, "usage: texture_filter ANSWERS [OTHER]\n");
        return 2;
    }
    int mismatches = 0, compared = 0, number = 0;
    for (Texture texture; fread(&texture, sizeof(texture), 1, file) == 1; number++) {
        const auto texels = next<char>(file, texture.bytes());
        const auto places = next<float>(file, 3 * texture.reads);
        const auto answers = next<uint32_t>(file, texture.reads * texture.components);
        const auto results = results_of(texture, texels, places, number);
        for (size_t i = 0; i < results.size(); i++) {
            if (results[i] == answers[i]) continue;
            if (mismatches++ >= 20) continue;
            const float *place = &places[i / texture.components * 3];
            printf("texture %d (shape %d, format %d) at %a, %a, %a: %08x, not %08x\n", number, texture.shape, texture.format, place[0], place[1],
                   place[2], results[i], answers[i]);
        }
        compared += (int)results.size();
        if (other == nullptr) continue;
        fwrite(&texture, sizeof(texture), 1, other);
        fwrite(texels.data(), 1, texels.size(), other);
        fwrite(places.data(), sizeof(float), places.size(), other);
        fwrite(results.data(), sizeof(uint32_t), results.size(), other);
    }
    fclose(file);
    if (other != nullptr) fclose(other);
    printf("textures %d, numbers %d\nmismatches %d\n", number, compared, mismatches);
    return mismatches != 0;
}
