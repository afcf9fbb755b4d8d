// libcu++ and cooperative groups: barriers and pipelines in shared memory, asynchronous copies, atomics with every memory order, latches.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int threads = 128, stages = 2, tiles = 8;

// The first half of the threads produces and the second half consumes, with two alternating barriers.
__global__ void hand_over(const int *in, int *out) {
    __shared__ int buffer[threads / 2];
    __shared__ alignas(barrier) char storage[2][sizeof(barrier)];
    barrier *ready = reinterpret_cast<barrier *>(storage[0]), *filled = reinterpret_cast<barrier *>(storage[1]);
    const int t = threadIdx.x, half = threads / 2;
    if (t == 0) {
        init(ready, threads);
        init(filled, threads);
    }
    __syncthreads();
    int sum = 0;
    if (t < half) {
        for (int i = 0; i < tiles; i++) {
            ready->arrive_and_wait();
            buffer[t] = in[i * half + t];
            auto token = filled->arrive();
            (void)token;
        }
    } else {
        auto token = ready->arrive();
        (void)token;
        for (int i = 0; i < tiles; i++) {
            filled->arrive_and_wait();
            sum += buffer[threads - 1 - t];
            if (i + 1 < tiles) (void)ready->arrive();
        }
        out[blockIdx.x * half + t - half] = sum;
    }
}

// Fetches the tiles with asynchronous copies whose completion a barrier tracks.
__global__ void copy_by_barrier(const int *in, int *out) {
    __shared__ alignas(16) int tile[threads * 4];
    __shared__ barrier bar;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, threads);
    block.sync();
    int sum = 0;
    for (int i = 0; i < tiles; i++) {
        cuda::memcpy_async(block, tile, in + i * threads, cuda::aligned_size_t<16>(sizeof(int) * threads), bar);
        bar.arrive_and_wait();
        sum += tile[(threadIdx.x * 7) % threads];
        block.sync();
    }
    cuda::memcpy_async(tile + threads + threadIdx.x, in + threadIdx.x, sizeof(int), bar);
    bar.arrive_and_wait();
    out[threadIdx.x] = sum + tile[threads + threads - 1 - threadIdx.x];
}

__global__ void copy_by_pipeline(const int *in, int *out) {
    __shared__ int buffer[stages][threads];
    auto block = cg::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> shared;
    auto pipeline = cuda::make_pipeline(block, &shared);
    int sum = 0;
    for (int fetched = 0, used = 0; used < tiles; used++) {
        for (; fetched < tiles && fetched < used + stages; fetched++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, buffer[fetched % stages], in + fetched * threads, sizeof(int) * threads, pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += buffer[used % stages][(threadIdx.x * 5) % threads];
        pipeline.consumer_release();
    }
    // A pipeline used by a single thread.
    auto own = cuda::make_pipeline();
    own.producer_acquire();
    cuda::memcpy_async(&buffer[0][threadIdx.x], in + threadIdx.x, sizeof(int), own);
    own.producer_commit();
    own.consumer_wait();
    sum += buffer[0][threadIdx.x];
    own.consumer_release();
    out[threadIdx.x] = sum;
}

__global__ void groups(const int *in, int *out) {
    __shared__ int tile[threads];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, in, sizeof(int) * threads);
    cg::wait(block);
    auto warp = cg::tiled_partition<32>(block);
    auto quarter = cg::tiled_partition<8>(block);
    int value = tile[threads - 1 - threadIdx.x];
    int sum = cg::reduce(warp, value, cg::plus<int>()), least = cg::reduce(quarter, value, cg::less<int>());
    int before = cg::exclusive_scan(warp, value, cg::plus<int>());
    auto odd = cg::binary_partition(warp, value & 1);
    int greatest = cg::reduce(odd, value, cg::greater<int>());
    auto active = cg::coalesced_threads();
    int found = warp.shfl_xor(value, 3) + warp.any(value == in[0]) + active.size() + __popc(warp.ballot(value & 2));
    int same = warp.match_any(value % 5);
    out[threadIdx.x] = sum + least * 3 + before * 5 + greatest * 7 + found * 11 + __popc(same);
}

struct Shared {
    cuda::atomic<int, cuda::thread_scope_device> count;
    cuda::atomic<unsigned long long, cuda::thread_scope_system> wide;
    cuda::std::atomic<unsigned> flags;
    int plain;
    float real;
};

__global__ void atomics(Shared *shared, int *out) {
    const int t = threadIdx.x;
    shared->count.fetch_add(t, cuda::std::memory_order_relaxed);
    shared->wide.fetch_add(1ull << 33, cuda::std::memory_order_acq_rel);
    shared->flags.fetch_or(1u << t % 32, cuda::std::memory_order_release);
    cuda::atomic_ref<int, cuda::thread_scope_device> plain(shared->plain);
    plain.fetch_max(t * 3 % 101, cuda::std::memory_order_relaxed);
    cuda::atomic_ref<float> real(shared->real);
    real.fetch_add(0.5f);
    __shared__ alignas(8) char storage[sizeof(cuda::latch<cuda::thread_scope_block>)];
    auto *latch = reinterpret_cast<cuda::latch<cuda::thread_scope_block> *>(storage);
    if (t == 0) new (latch) cuda::latch<cuda::thread_scope_block>(threads);
    __syncthreads();
    latch->arrive_and_wait();
    // One thread waits for another in its CTA.
    if (t == 5) shared->count.store(-1, cuda::std::memory_order_release);
    if (t == 70) {
        while (shared->count.load(cuda::std::memory_order_acquire) != -1) {}
        out[0] = 1;
        int expected = -1;
        out[1] = shared->count.compare_exchange_strong(expected, 77);
    }
}

static int failures = 0;
static void expect(const char *what, int index, int found, int expected) {
    if (found != expected && failures++ < 20) printf("%s %d: %d, expected %d\n", what, index, found, expected);
}

int main() {
    std::vector<int> in(threads * tiles), out(threads);
    for (int i = 0; i < threads * tiles; i++) in[i] = (i * 7919) % 1000;
    int *device_in, *device_out;
    cudaMalloc(&device_in, in.size() * sizeof(int));
    cudaMalloc(&device_out, threads * sizeof(int));
    cudaMemcpy(device_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
    auto fetch = [&](const char *what) {
        const cudaError_t error = cudaMemcpy(out.data(), device_out, threads * sizeof(int), cudaMemcpyDeviceToHost);
        if (error != cudaSuccess) printf("%s: %s\n", what, cudaGetErrorString(error)), failures++;
    };
    const int half = threads / 2;
    hand_over<<<2, threads>>>(device_in, device_out);
    fetch("hand_over");
    for (int t = 0; t < threads; t++) {
        int sum = 0;
        for (int i = 0; i < tiles; i++) sum += in[i * half + half - 1 - t % half];
        expect("hand_over", t, out[t], sum);
    }
    copy_by_barrier<<<1, threads>>>(device_in, device_out);
    fetch("copy_by_barrier");
    for (int t = 0; t < threads; t++) {
        int sum = in[threads - 1 - t];
        for (int i = 0; i < tiles; i++) sum += in[i * threads + t * 7 % threads];
        expect("copy_by_barrier", t, out[t], sum);
    }
    copy_by_pipeline<<<1, threads>>>(device_in, device_out);
    fetch("copy_by_pipeline");
    for (int t = 0; t < threads; t++) {
        int sum = in[t];
        for (int i = 0; i < tiles; i++) sum += in[i * threads + t * 5 % threads];
        expect("copy_by_pipeline", t, out[t], sum);
    }
    groups<<<1, threads>>>(device_in, device_out);
    fetch("groups");
    for (int t = 0; t < threads; t++) {
        auto value = [&](int i) { return in[threads - 1 - i]; };
        const int base = t - t % 32, own = value(t);
        int sum = 0, least = 1 << 30, before = 0, greatest = 0, found = value(t ^ 3) + 32, same = 0, any = 0;
        for (int i = base; i < base + 32; i++) {
            sum += value(i);
            if (i < t) before += value(i);
            if ((value(i) & 1) == (own & 1) && value(i) > greatest) greatest = value(i);
            any |= value(i) == in[0];
            found += (value(i) & 2) != 0;
            same += value(i) % 5 == own % 5;
        }
        for (int i = t - t % 8; i < t - t % 8 + 8; i++) least = value(i) < least ? value(i) : least;
        expect("groups", t, out[t], sum + least * 3 + before * 5 + greatest * 7 + (found + any) * 11 + same);
    }
    Shared *shared, host{};
    cudaMalloc(&shared, sizeof *shared);
    cudaMemset(shared, 0, sizeof *shared);
    atomics<<<1, threads>>>(shared, device_out);
    fetch("atomics");
    cudaMemcpy((void *)&host, shared, sizeof host, cudaMemcpyDeviceToHost);
    expect("waited", 0, out[0], 1);
    expect("exchanged", 0, out[1], 1);
    expect("count", 0, host.count.load(), 77);
    expect("wide", 0, host.wide.load() == (unsigned long long)threads << 33, 1);
    expect("flags", 0, host.flags.load(), -1);
    expect("greatest", 0, host.plain, 100);
    expect("real", 0, host.real == threads / 2, 1);
    puts(failures ? "FAILED" : "PASSED");
    return failures != 0;
}
