// Passes uninitialised values where only other lanes' values matter, as programs written for nvcc do. If a function promised Clang that
// its arguments are initialised, Clang would conclude that such lanes never reach the call, and remove the condition on the lane.
#include <cstdio>

constexpr int kThreads = 64, kCtas = 4;

__device__ __noinline__ int chosen(bool first, int left, int right) { return first ? left : right; }

__global__ void hand_on(const int *from, int *to) {
    const int lane = threadIdx.x % 32, thread = blockIdx.x * blockDim.x + threadIdx.x;
    int claimed;
    if (lane == 0) claimed = from[thread / 32];
    claimed = __shfl_sync(~0u, claimed, 0);
    int even, odd;
    if (lane % 2) odd = from[1];
    else even = from[2];
    to[thread] = claimed + chosen(lane % 2 == 0, even, odd) + lane;
}

int main() {
    constexpr int count = kCtas * kThreads, warps = count / 32;
    int from[warps], actual[count], wrong = 0, *in = nullptr, *out = nullptr;
    for (int i = 0; i < warps; ++i) from[i] = 1000 * i * i + 7;
    cudaMalloc(&in, sizeof from);
    cudaMalloc(&out, sizeof actual);
    cudaMemcpy(in, from, sizeof from, cudaMemcpyHostToDevice);
    hand_on<<<kCtas, kThreads>>>(in, out);
    cudaMemcpy(actual, out, sizeof actual, cudaMemcpyDeviceToHost);
    for (int i = 0; i < count; ++i) wrong += actual[i] != from[i / 32] + from[i % 2 ? 1 : 2] + i % 32;
    printf("%d wrong, %s\n%s\n", wrong, cudaGetErrorString(cudaGetLastError()), wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
