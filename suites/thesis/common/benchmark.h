// Code that the six programs share: checked CUDA calls, arguments, reproducible data, the verdict.
#pragma once

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

// Rounds products and sums separately, so that host and device compute the same numbers.
#pragma clang fp contract(off)

// Exits if a CUDA call fails. Kernel launches are followed by CUDA_CHECK(cudaGetLastError()).
#define CUDA_CHECK(call)                                                                                  \
    do {                                                                                                  \
        const cudaError_t cudaCheckResult = (call);                                                       \
        if (cudaCheckResult != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                            \
                         cudaGetErrorString(cudaCheckResult));                                            \
            std::exit(2);                                                                                 \
        }                                                                                                 \
    } while (0)

namespace benchmark {

// Returns the argument at `index` as an integer from `low` to `high`; exits with a message if it is not one.
inline long argument(int count, char **values, int index, const char *name, long low, long high) {
    if (index < count) {
        char *end = nullptr;
        errno = 0;
        const long value = std::strtol(values[index], &end, 10);
        if (errno == 0 && end != values[index] && *end == '\0' && value >= low && value <= high) {
            return value;
        }
    }
    std::fprintf(stderr, "argument %d (%s): expected a number from %ld to %ld\n", index, name, low, high);
    std::exit(2);
}

inline int divideRoundingUp(long value, long divisor) { return static_cast<int>((value + divisor - 1) / divisor); }

// SplitMix64, which yields the same sequence on every machine.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        state_ += 0x9e3779b97f4a7c15ULL;
        uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
        return mixed ^ (mixed >> 31);
    }

    // Returns an integer from 0 up to, but not including, `bound`.
    uint32_t below(uint32_t bound) { return static_cast<uint32_t>(((next() >> 32) * bound) >> 32); }

    // Returns a number from `low` up to `high`, in steps of (high - low) / 2^24.
    float between(float low, float high) {
        return low + (high - low) * (static_cast<float>(next() >> 40) * (1.0f / 16777216.0f));
    }

private:
    uint64_t state_;
};

// Device memory for `count` elements, freed at the end of the scope.
template <typename Element> class DeviceArray {
public:
    explicit DeviceArray(size_t count) : count_(count) {
        CUDA_CHECK(cudaMalloc(reinterpret_cast<void **>(&data_), bytes()));
    }
    explicit DeviceArray(const std::vector<Element> &values) : DeviceArray(values.size()) { upload(values); }
    DeviceArray(const DeviceArray &) = delete;
    DeviceArray &operator=(const DeviceArray &) = delete;
    ~DeviceArray() { cudaFree(data_); }

    Element *data() const { return data_; }
    size_t bytes() const { return count_ * sizeof(Element); }

    void upload(const std::vector<Element> &values) {
        CUDA_CHECK(cudaMemcpy(data_, values.data(), values.size() * sizeof(Element), cudaMemcpyHostToDevice));
    }
    std::vector<Element> download() const {
        std::vector<Element> values(count_);
        CUDA_CHECK(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost));
        return values;
    }

private:
    size_t count_;
    Element *data_ = nullptr;
};

// FNV-1a hash of the values' bytes, in order.
template <typename Element> uint64_t checksum(const std::vector<Element> &values) {
    uint64_t hash = 0xcbf29ce484222325ULL;
    const unsigned char *bytes = reinterpret_cast<const unsigned char *>(values.data());
    for (size_t index = 0; index < values.size() * sizeof(Element); ++index) {
        hash = (hash ^ bytes[index]) * 0x100000001b3ULL;
    }
    return hash;
}

inline bool agrees(float found, float expected) {
    return std::fabs(found - expected) <= 1e-6f * std::fmax(1.0f, std::fabs(expected));
}
template <typename Element> bool agrees(Element found, Element expected) { return found == expected; }

// Compares element by element, with a relative tolerance of 1e-6 for floating-point numbers, and prints the first
// difference.
template <typename Element>
bool equal(const char *what, const std::vector<Element> &found, const std::vector<Element> &expected) {
    if (found.size() != expected.size()) {
        std::printf("%s: %zu elements instead of %zu\n", what, found.size(), expected.size());
        return false;
    }
    for (size_t index = 0; index < found.size(); ++index) {
        if (!agrees(found[index], expected[index])) {
            std::printf("%s[%zu]: %.9g instead of %.9g\n", what, index, static_cast<double>(found[index]),
                        static_cast<double>(expected[index]));
            return false;
        }
    }
    return true;
}

// Prints the verdict and returns the program's exit code.
inline int verdict(bool passed, uint64_t resultChecksum) {
    std::printf("checksum %016llx\n", static_cast<unsigned long long>(resultChecksum));
    std::printf("%s\n", passed ? "PASSED" : "FAILED");
    return passed ? 0 : 1;
}

} // namespace benchmark
