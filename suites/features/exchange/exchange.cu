// CTAs that exchange data within a launch: a stencil with a grid barrier between its steps, and an array that one CTA passes to another
// using a flag.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

constexpr int kCtas = 8, kThreads = 32, kCells = kCtas * kThreads, kSteps = 4;

__global__ void stencil(int *a, int *b) {
    cg::grid_group grid = cg::this_grid();
    const int i = blockIdx.x * kThreads + threadIdx.x;
    for (int step = 0; step < kSteps; ++step) {
        const int *from = step % 2 ? b : a;
        int sum = from[i];
        if (i > 0)
            sum += from[i - 1];
        if (i < kCells - 1)
            sum += from[i + 1];
        (step % 2 ? a : b)[i] = sum;
        grid.sync();
    }
}

__global__ void hand_over(int *data, int *flag, int *out) {
    const int i = threadIdx.x;
    if (blockIdx.x == 0) {
        data[i] = 3 * i;
        __threadfence();
        __syncthreads();
        if (i == 0) atomicExch(flag, 1);
    } else {
        if (i == 0)
            while (*(volatile int *)flag == 0) {}
        __syncthreads();
        __threadfence();
        out[i] =
            ((volatile int *)data)[i];
    }
}

int main() {
    int *a, *b, *data, *flag, *out, host[kCells], expected[kCells], next[kCells];
    for (int i = 0; i < kCells; ++i) expected[i] = host[i] = i % 7;
    cudaMalloc(&a, sizeof host);
    cudaMalloc(&b, sizeof host);
    cudaMalloc(&data, kThreads * sizeof(int));
    cudaMalloc(&flag, sizeof(int));
    cudaMalloc(&out, kThreads * sizeof(int));
    cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(flag, 0, sizeof(int));
    void *arguments[] = {&a, &b};
    cudaLaunchCooperativeKernel((const void *)stencil, dim3(kCtas), dim3(kThreads), arguments, 0, 0);
    hand_over<<<2, kThreads>>>(data, flag, out);
    cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost);
    for (int step = 0; step < kSteps; ++step) {
        for (int i = 0; i < kCells; ++i)
            next[i] = expected[i] + (i > 0 ? expected[i - 1] : 0) + (i < kCells - 1 ? expected[i + 1] : 0);
        for (int i = 0; i < kCells; ++i) expected[i] = next[i];
    }
    bool passed = true;
    for (int i = 0; i < kCells; ++i) passed &= host[i] == expected[i];
    cudaMemcpy(host, out, kThreads * sizeof(int), cudaMemcpyDeviceToHost);
    for (int i = 0; i < kThreads; ++i) passed &= host[i] == 3 * i;
    printf("%s\n", passed && cudaGetLastError() == cudaSuccess ? "PASSED" : "FAILED");
    return passed ? 0 : 1;
}
