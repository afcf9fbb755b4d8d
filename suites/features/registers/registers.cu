// A kernel that uses nearly 64 registers, the most that CTAs of 1,024 threads permit, and does not declare launch bounds: with a probe,
// its launches must still succeed, through every launch interface.
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

static bool succeeded(cudaError_t error, const char *what) {
    if (error != cudaSuccess) printf("%s: %s\n", what, cudaGetErrorName(error));
    return error == cudaSuccess;
}

int main() {
    std::vector<unsigned> values(kCount), found(kCount);
    for (unsigned i = 0; i < kCount; ++i) values[i] = i * i + 1;
    unsigned *from = nullptr, *to = nullptr;
    bool good = succeeded(cudaMalloc(&from, kCount * sizeof *from), "cudaMalloc") &&
                succeeded(cudaMalloc(&to, kCount * sizeof *to), "cudaMalloc") &&
                succeeded(cudaMemcpy(from, values.data(), kCount * sizeof *from, cudaMemcpyHostToDevice), "cudaMemcpy");
    for (unsigned method = 0; good && method < 3; ++method) {
        unsigned rounds = kRounds + method;
        if (method == 0) {
            stir<<<kCtas, kThreads>>>(from, to, rounds);
            good &= succeeded(cudaGetLastError(), "stir<<<>>>");
        } else if (method == 1) {
            void *arguments[] = {&from, &to, &rounds};
            good &= succeeded(cudaLaunchKernel((const void *)stir, kCtas, kThreads, arguments, 0, nullptr), "cudaLaunchKernel");
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
            good &= succeeded(cudaLaunchKernelExC(&configuration, (const void *)stir, arguments), "cudaLaunchKernelExC");
        }
        good &= succeeded(cudaMemcpy(found.data(), to, kCount * sizeof *to, cudaMemcpyDeviceToHost), "cudaMemcpy");
        unsigned wrong = 0;
        for (unsigned i = 0; i < kCount; ++i) wrong += found[i] != mix(values.data(), i, rounds);
        if (wrong) printf("method %u: %u of %u numbers are wrong\n", method, wrong, kCount);
        good &= wrong == 0;
        values = found;
        std::swap(from, to);
    }
    printf(good ? "PASSED\n" : "FAILED\n");
    return !good;
}
