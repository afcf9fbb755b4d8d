// Two reductions over a CTA in the same shared memory, without a barrier between the last loads of the first and the first stores of the
// second. Real programs do this: on a GPU, all warps finish loading long before any finishes shuffling.
#include <cstdio>

constexpr int kThreads = 256, kCtas = 3;

__device__ float sum_of_warp(float value) {
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    return value;
}

__device__ float sum_of_cta(float value) {
    __shared__ float sums[kThreads / 32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    value = sum_of_warp(value);
    if (lane == 0) sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = sum_of_warp(lane < kThreads / 32 ? sums[lane] : 0);
        if (lane == 0) sums[0] = value;
    }
    __syncthreads();
    return sums[0];
}

__global__ void spread(const float *from, float *to) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const float mean = sum_of_cta(from[thread]) / kThreads;
    const float off = from[thread] - mean;
    to[thread] = mean + 4096 * sum_of_cta(off * off);
}

int main() {
    constexpr int count = kCtas * kThreads;
    float from[count], actual[count], *in = nullptr, *out = nullptr;
    int wrong = 0;
    // Small integers, whose sums are exact in any order; their mean is 8.
    for (int i = 0; i < count; ++i) from[i] = 8 + (i % 2 ? -1 : 1) * (1 + i / kThreads + i / 2 % 2);
    cudaMalloc(&in, sizeof from);
    cudaMalloc(&out, sizeof actual);
    cudaMemcpy(in, from, sizeof from, cudaMemcpyHostToDevice);
    spread<<<kCtas, kThreads>>>(in, out);
    cudaMemcpy(actual, out, sizeof actual, cudaMemcpyDeviceToHost);
    for (int i = 0; i < count; ++i) {
        const float near = 1 + i / kThreads, far = near + 1;
        wrong += actual[i] != 8 + 4096 * (kThreads / 2) * (near * near + far * far);
    }
    printf("%d wrong, %s\n%s\n", wrong, cudaGetErrorString(cudaGetLastError()), wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
