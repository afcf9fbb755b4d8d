// Decoupled look-back, as in library scans, and a lock. A CTA's next step depends on the values that it polls.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

constexpr int kCtas = 64, kNumbers = kCtas * 32;
enum State { kNothing, kPart, kWhole };

struct Tiles {
    volatile int *states;
    volatile int *parts, *sums;
};

__global__ void scan(const int *in, int *out, Tiles tiles) {
    const int tile = blockIdx.x, lane = threadIdx.x;
    int sum = in[tile * 32 + lane];
    for (int distance = 1; distance < 32; distance *= 2) {
        const int left = __shfl_up_sync(~0u, sum, distance);
        if (lane >= distance) sum += left;
    }
    const int whole = __shfl_sync(~0u, sum, 31);
    int before = 0;
    if (lane == 0 && tile > 0) {
        tiles.parts[tile] = whole;
        __threadfence();
        tiles.states[tile] = kPart;
        for (int at = tile - 1;; --at) {
            int state;
            while ((state = tiles.states[at]) == kNothing) {}
            __threadfence();
            before += state == kWhole ? tiles.sums[at] : tiles.parts[at];
            if (state == kWhole) break;
        }
    }
    if (lane == 0) {
        tiles.sums[tile] = before + whole;
        __threadfence();
        tiles.states[tile] = kWhole;
    }
    out[tile * 32 + lane] = sum + __shfl_sync(~0u, before, 0);
}

__global__ void add_up(int *lock, volatile int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum = *sum + (int)blockIdx.x;
    __threadfence();
    atomicExch(lock, 0);
}

int main() {
    std::vector<int> in(kNumbers), out(kNumbers);
    for (int i = 0; i < kNumbers; ++i) in[i] = i % 7;
    int *from, *to, *words, total = 0;
    cudaMalloc(&from, kNumbers * sizeof(int));
    cudaMalloc(&to, kNumbers * sizeof(int));
    cudaMalloc(&words, (3 * kCtas + 2) * sizeof(int));
    cudaMemset(words, 0, (3 * kCtas + 2) * sizeof(int));
    cudaMemcpy(from, in.data(), kNumbers * sizeof(int), cudaMemcpyHostToDevice);
    scan<<<kCtas, 32>>>(from, to, Tiles{words, words + kCtas, words + 2 * kCtas});
    add_up<<<kCtas, 1>>>(words + 3 * kCtas, words + 3 * kCtas + 1);
    cudaMemcpy(out.data(), to, kNumbers * sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(&total, words + 3 * kCtas + 1, sizeof total, cudaMemcpyDeviceToHost);
    bool failed = total != kCtas * (kCtas - 1) / 2 || cudaGetLastError() != cudaSuccess;
    for (int i = 0, sum = 0; i < kNumbers; ++i) failed |= out[i] != (sum += in[i]);
    puts(failed ? "FAILED" : "PASSED");
    return failed;
}
