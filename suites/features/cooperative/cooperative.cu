// Cooperative launches: CTAs that wait for each other at the grid barrier, in a loop, with warp operations and shared memory,
// with early arrival, from a launch with attributes; a grid that is too large; and an index that wraps at 32 bits.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <climits>
#include <cstdio>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;
static bool failed = false;
static void expect(bool holds, const char *what, int line) {
    if (holds) return;
    printf("line %d: expected %s\n", line, what);
    failed = true;
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

constexpr int ctas = 24, threads = 96, n = ctas * threads;

// In each round, every thread takes the value that the opposite thread in the grid had in the previous round.
__global__ void swap(unsigned *a, unsigned *b, int rounds) {
    cg::grid_group grid = cg::this_grid();
    for (int round = 0; round < rounds; round++) {
        unsigned *from = round % 2 ? b : a, *to = round % 2 ? a : b;
        to[grid.thread_rank()] = from[grid.size() - 1 - grid.thread_rank()] + round;
        grid.sync();
    }
}

// A sum over the grid, in shared memory and by warps; the first CTA adds the other CTAs' sums.
__global__ void sum(const unsigned *in, unsigned *parts, unsigned *out) {
    __shared__ unsigned warps[threads / 32];
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    unsigned mine = cg::reduce(tile, in[grid.thread_rank()], cg::plus<unsigned>());
    if (tile.thread_rank() == 0) warps[tile.meta_group_rank()] = mine;
    block.sync();
    if (block.thread_rank() == 0) {
        for (int i = 1; i < threads / 32; i++) mine += warps[i];
        parts[blockIdx.x] = mine;
    }
    grid.sync();
    if (blockIdx.x == 0 && threadIdx.x < 32) {
        unsigned all = 0;
        for (int i = threadIdx.x; i < gridDim.x; i += 32) all += parts[i];
        all = cg::reduce(tile, all, cg::plus<unsigned>());
        if (threadIdx.x == 0) *out = all;
    }
}

// Arrives, works, and only then waits; dynamic shared memory keeps its contents.
__global__ void arrive(unsigned *data, unsigned *out) {
    extern __shared__ unsigned own[];
    cg::grid_group grid = cg::this_grid();
    own[threadIdx.x] = blockIdx.x;
    data[grid.thread_rank()] = grid.thread_rank();
    auto token = grid.barrier_arrive();
    own[threadIdx.x] += 100;
    grid.barrier_wait(std::move(token));
    out[grid.thread_rank()] = data[(grid.thread_rank() + threads) % n] + own[threadIdx.x];
}

// An unsigned index that wraps below 0 (GPU shared addresses are 32-bit), and divisions that raise a signal on x86.
__global__ void wrap(const unsigned *start, unsigned *out, unsigned *ignored) {
    __shared__ unsigned lower[threads + 32];
    unsigned *upper = lower + 32;
    lower[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 32) lower[threads + threadIdx.x] = 0;
    __syncthreads();
    unsigned index = start[0] + threadIdx.x % 32 - 32;
    int zero = start[1], least = zero + INT_MIN, minus_one = zero - 1;
    out[threadIdx.x] = upper[index];
    // The result is undefined, but the launch continues.
    ignored[threadIdx.x % ctas] = threadIdx.x / start[0] + least / minus_one;
}

int main() {
    unsigned *a, *b, *out, *parts, host[n];
    EXPECT(cudaMalloc(&a, sizeof host) == cudaSuccess && cudaMalloc(&b, sizeof host) == cudaSuccess);
    EXPECT(cudaMalloc(&out, sizeof host) == cudaSuccess && cudaMalloc(&parts, ctas * 4) == cudaSuccess);
    int device = 0, cooperative = 0, resident = 0, multiprocessors = 0, rounds = 5;
    EXPECT(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device) == cudaSuccess && cooperative);
    EXPECT(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess);
    EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, swap, threads, 0) == cudaSuccess && resident >= 1);
    EXPECT(resident * multiprocessors >= ctas);

    for (int i = 0; i < n; i++) host[i] = 3 * i;
    EXPECT(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess);
    void *swap_arguments[] = {&a, &b, &rounds};
    EXPECT(cudaLaunchCooperativeKernel((void *)swap, ctas, threads, swap_arguments, 0, 0) == cudaSuccess);
    EXPECT(cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
    bool correct = true;
    for (int i = 0; i < n; i++) correct &= host[i] == 3 * (n - 1 - i) + 0 + 1 + 2 + 3 + 4;
    EXPECT(correct);

    void *sum_arguments[] = {&a, &parts, &out};
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeCooperative;
    attribute[0].val.cooperative = 1;
    config.gridDim = ctas, config.blockDim = threads, config.attrs = attribute, config.numAttrs = 1;
    EXPECT(cudaLaunchKernelExC(&config, (void *)sum, sum_arguments) == cudaSuccess);
    unsigned total = 0, expected_total = 0;
    EXPECT(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
    for (unsigned value : host) expected_total += value;
    EXPECT(cudaMemcpy(&total, out, 4, cudaMemcpyDeviceToHost) == cudaSuccess && total == expected_total);

    void *arrive_arguments[] = {&a, &out};
    for (int i = 0; i < 2; i++)
        EXPECT(cudaLaunchCooperativeKernel((void *)arrive, ctas, threads, arrive_arguments, threads * 4, 0) == cudaSuccess);
    EXPECT(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
    correct = true;
    for (int i = 0; i < n; i++) correct &= host[i] == (i + threads) % n + i / threads + 100;
    EXPECT(correct);

    EXPECT(cudaLaunchCooperativeKernel((void *)swap, 1 << 20, threads, swap_arguments, 0, 0) == cudaErrorCooperativeLaunchTooLarge);
    cudaGetLastError();

    EXPECT(cudaMemset(a, 0, sizeof host) == cudaSuccess);
    wrap<<<1, threads>>>(a, out, parts);
    EXPECT(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
    correct = true;
    for (int i = 0; i < threads; i++) correct &= host[i] == i % 32;
    EXPECT(correct);
    printf(failed ? "FAILED\n" : "PASSED\n");
    return failed;
}
