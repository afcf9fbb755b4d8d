// A kernel that takes nearly 64 registers, as many as CTAs of 1,024 threads permit, and does not declare launch bounds: with a probe,
// such launches must still succeed, through each interface that programs use.
#include <cstdio>
#include <cuda_runtime.h>
#include <utility>
#include <vector>

constexpr unsigned kThreads = 1024, kCtas = 3, kWords = 50, kRounds = 5, kCount = kCtas * kThreads;

// All words are needed in every round, so they remain in registers, as do the values that the load in the middle needs.
__host__ __device__ unsigned mix(const unsigned *from, unsigned thread, unsigned rounds) {
    unsigned words[kWords];
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) words[i] = (thread + i) * 2654435761u;
    for (unsigned round = 1; round <= rounds; ++round) {
        const unsigned other = from[(thread * 7 + round * 129) % kCount];
#pragma unroll
        for (unsigned i = 0; i < kWords; ++i) words[i] = (words[i] ^ other) * 5 + words[(i + 1) % kWords];
    }
    unsigned sum = 0;
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) sum ^= words[i] >> i % 3;
    return sum;
}

__global__ void stir(const unsigned *from, unsigned *to, unsigned rounds) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    to[thread] = mix(from, thread, rounds);
}

static bool ended_well(cudaError_t error, const char *what) {
    if (error != cudaSuccess) printf("%s: %s\n", what, cudaGetErrorName(error));
    return error == cudaSuccess;
}

int main() {
    std::vector<unsigned> values(kCount), found(kCount);
    for (unsigned i = 0; i < kCount; ++i) values[i] = i * i + 1;
    unsigned *from = nullptr, *to = nullptr;
    bool good = ended_well(cudaMalloc(&from, kCount * sizeof *from), "cudaMalloc") &&
                ended_well(cudaMalloc(&to, kCount * sizeof *to), "cudaMalloc") &&
                ended_well(cudaMemcpy(from, values.data(), kCount * sizeof *from, cudaMemcpyHostToDevice), "cudaMemcpy");
    for (unsigned way = 0; good && way < 3; ++way) {
        unsigned rounds = kRounds + way;
        if (way == 0) {
            stir<<<kCtas, kThreads>>>(from, to, rounds);
            good &= ended_well(cudaGetLastError(), "stir<<<>>>");
        } else if (way == 1) {
            void *arguments[] = {&from, &to, &rounds};
            good &= ended_well(cudaLaunchKernel((const void *)stir, kCtas, kThreads, arguments, 0, nullptr), "cudaLaunchKernel");
        } else {
            cudaLaunchAttribute attribute = {};
            attribute.id = cudaLaunchAttributePriority;
            attribute.val.priority = 0;
            cudaLaunchConfig_t configuration = {};
            configuration.gridDim = kCtas;
            configuration.blockDim = kThreads;
            configuration.attrs = &attribute;
            configuration.numAttrs = 1;
            void *arguments[] = {&from, &to, &rounds};
            good &= ended_well(cudaLaunchKernelExC(&configuration, (const void *)stir, arguments), "cudaLaunchKernelExC");
        }
        good &= ended_well(cudaMemcpy(found.data(), to, kCount * sizeof *to, cudaMemcpyDeviceToHost), "cudaMemcpy");
        unsigned wrong = 0;
        for (unsigned i = 0; i < kCount; ++i) wrong += found[i] != mix(values.data(), i, rounds);
        if (wrong) printf("way %u: %u of %u numbers are wrong\n", way, wrong, kCount);
        good &= wrong == 0;
        values = found;
        std::swap(from, to);
    }
    printf(good ? "PASSED\n" : "FAILED\n");
    return !good;
}
