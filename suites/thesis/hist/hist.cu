// A histogram of bytes with 64 bins, in two steps: count, and merge the partial histograms.
//
// The first kernel gives each thread at most 240 bytes, so its 64 counters in shared memory need only one byte each;
// the CTA then adds up its threads' counters and stores a partial histogram. In the second kernel, CTA b gathers bin b
// of all partial histograms: every merging CTA reads from every counting CTA.
//
// Arguments: bytes

#include "../common/benchmark.h"

#include <cstring>

namespace {

constexpr int kBins = 64;
constexpr int kCountThreads = 64;
constexpr int kMergeThreads = 256;
// Fifteen 16-byte vectors, the maximum for a one-byte counter.
constexpr int kVectorsPerThread = 15;
constexpr int kBytesPerCta = kCountThreads * kVectorsPerThread * 16;

static_assert(kCountThreads == kBins, "each thread of the counting kernel adds up one bin");

__global__ void countBytes(const uint4 *data, int vectors, unsigned int *partial) {
    // One row per bin, one column per thread.
    __shared__ unsigned char counters[kBins][kCountThreads];
    const int thread = threadIdx.x;
    for (int bin = 0; bin < kBins; ++bin) {
        counters[bin][thread] = 0;
    }
    __syncthreads();

    const int stride = static_cast<int>(gridDim.x) * kCountThreads;
    for (int index = static_cast<int>(blockIdx.x) * kCountThreads + thread; index < vectors; index += stride) {
        const uint4 vector = data[index];
        const unsigned int words[4] = {vector.x, vector.y, vector.z, vector.w};
        for (const unsigned int word : words) {
            for (int shift = 2; shift < 32; shift += 8) {
                ++counters[(word >> shift) & (kBins - 1)][thread];
            }
        }
    }
    __syncthreads();

    unsigned int sum = 0;
    for (int step = 0; step < kCountThreads; ++step) {
        // Each thread starts at a different column to avoid bank conflicts.
        sum += counters[thread][(step + thread) % kCountThreads];
    }
    partial[blockIdx.x * kBins + thread] = sum;
}

__global__ void mergeHistograms(const unsigned int *partial, int partials, unsigned int *histogram) {
    __shared__ unsigned int sums[kMergeThreads];
    const int thread = threadIdx.x;
    unsigned int sum = 0;
    for (int index = thread; index < partials; index += kMergeThreads) {
        sum += partial[index * kBins + static_cast<int>(blockIdx.x)];
    }
    sums[thread] = sum;
    __syncthreads();
    for (int half = kMergeThreads / 2; half > 0; half /= 2) {
        if (thread < half) {
            sums[thread] += sums[thread + half];
        }
        __syncthreads();
    }
    if (thread == 0) {
        histogram[blockIdx.x] = sums[0];
    }
}

} // namespace

int main(int argc, char **argv) {
    const long bytes = benchmark::argument(argc, argv, 1, "bytes, a multiple of 16", 16, 1L << 30);
    if (bytes % 16 != 0) {
        std::fprintf(stderr, "argument 1 (bytes): expected a multiple of 16\n");
        return 2;
    }

    benchmark::Random random(3);
    std::vector<unsigned char> data(static_cast<size_t>(bytes));
    for (size_t index = 0; index < data.size(); index += sizeof(uint64_t)) {
        const uint64_t value = random.next();
        std::memcpy(&data[index], &value, sizeof value);
    }

    const int ctas = benchmark::divideRoundingUp(bytes, kBytesPerCta);
    benchmark::DeviceArray<unsigned char> deviceData(data);
    benchmark::DeviceArray<unsigned int> devicePartial(static_cast<size_t>(ctas) * kBins);
    benchmark::DeviceArray<unsigned int> deviceHistogram(kBins);
    countBytes<<<ctas, kCountThreads>>>(reinterpret_cast<const uint4 *>(deviceData.data()),
                                        static_cast<int>(bytes / 16), devicePartial.data());
    CUDA_CHECK(cudaGetLastError());
    mergeHistograms<<<kBins, kMergeThreads>>>(devicePartial.data(), ctas, deviceHistogram.data());
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());

    std::vector<unsigned int> expected(kBins, 0);
    for (const unsigned char value : data) {
        ++expected[value / 4];
    }
    const std::vector<unsigned int> found = deviceHistogram.download();
    return benchmark::verdict(benchmark::equal("bin", found, expected), benchmark::checksum(found));
}
