// Functions in Clang's headers whose inline PTX declares neither `volatile` nor memory accesses: vector atomics, and loads of `long` with
// cache hints. All counts are for 2 CTAs of 32 threads.
#include <cstdio>

constexpr int kThreads = 32, kCtas = 2, kCount = kThreads * kCtas;

// 6 atomic operations per thread, 384 in total.
__global__ void add(float2 *pairs, float4 *quads) {
    const float2 pair = make_float2(1, 2);
    const float4 quad = make_float4(1, 2, 3, 4);
    const int own = 2 + blockIdx.x;
    atomicAdd(&pairs[0], pair);
    atomicAdd_system(&pairs[1], pair);
    atomicAdd_block(&pairs[own], pair);
    atomicAdd(&quads[0], quad);
    atomicAdd_system(&quads[1], quad);
    atomicAdd_block(&quads[own], quad);
}

// 6 loads and 4 stores per thread; each load sees the store before it.
__global__ void count_up(long *numbers, long *seen) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    long *const a = numbers + i, *const b = a + kCount, *const c = b + kCount;
    const long first = __ldcg(a), second = __ldcs(b), third = __ldcv(c);
    *a = first + 1;
    *b = second + 10;
    *c = third + 100;
    seen[i] = __ldcg(a) - first + __ldcs(b) - second + __ldcv(c) - third;
}

// 2 loads and a store per thread, and a store per CTA, between barriers.
__global__ void hand_over(long *numbers, long *seen) {
    const long before = __ldcg(&numbers[blockIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) numbers[blockIdx.x] = before + 1000;
    __syncthreads();
    seen[blockIdx.x * kThreads + threadIdx.x] = __ldcg(&numbers[blockIdx.x]) - before;
}

int main() {
    float2 *pairs, sums[2 + kCtas];
    float4 *quads, wide[2 + kCtas];
    long *numbers, *seen, actual[kCount];
    int wrong = 0;
    cudaMalloc(&pairs, sizeof sums);
    cudaMalloc(&quads, sizeof wide);
    cudaMalloc(&numbers, 3 * sizeof actual);
    cudaMalloc(&seen, sizeof actual);
    cudaMemset(pairs, 0, sizeof sums);
    cudaMemset(quads, 0, sizeof wide);
    cudaMemset(numbers, 0, 3 * sizeof actual);

    add<<<kCtas, kThreads>>>(pairs, quads);
    cudaMemcpy(sums, pairs, sizeof sums, cudaMemcpyDeviceToHost);
    cudaMemcpy(wide, quads, sizeof wide, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 2 + kCtas; ++i) {
        const float n = i < 2 ? kCount : kThreads;
        printf("%g %g, %g %g %g %g\n", sums[i].x, sums[i].y, wide[i].x, wide[i].y, wide[i].z, wide[i].w);
        wrong += sums[i].x != n || sums[i].y != 2 * n;
        wrong += wide[i].x != n || wide[i].y != 2 * n || wide[i].z != 3 * n || wide[i].w != 4 * n;
    }
    count_up<<<kCtas, kThreads>>>(numbers, seen);
    cudaMemcpy(actual, seen, sizeof actual, cudaMemcpyDeviceToHost);
    for (long each : actual) wrong += each != 111;
    hand_over<<<kCtas, kThreads>>>(numbers, seen);
    cudaMemcpy(actual, seen, sizeof actual, cudaMemcpyDeviceToHost);
    for (long each : actual) wrong += each != 1000;
    printf("%d wrong, %s\n%s\n", wrong, cudaGetErrorString(cudaGetLastError()), wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
