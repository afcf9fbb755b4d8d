// Constant tables. Each thread performs five loads from global memory and one store. 4 CTAs of 64 threads.
#include <cstdio>

constexpr int kThreads = 64, kCtas = 4, kCount = kThreads * kCtas, kWords = 32768;

// 128 KiB, twice the size of constant memory.
struct Table {
    int words[kWords];
    constexpr Table() : words() {
        for (int i = 0; i < kWords; ++i) words[i] = 3 * i;
    }
};
__device__ const Table big{};
__device__ const int squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};
__constant__ const int cubes[8] = {0, 1, 8, 27, 64, 125, 216, 343};
__constant__ int set_by_host[8];
#ifdef __clang__
const int of_host[8] = {7, 6, 5, 4, 3, 2, 1, 0};
#else
__device__ const int of_host[8] = {7, 6, 5, 4, 3, 2, 1, 0};
#endif

__device__ int choose(int i) {
    switch (i) {
    case 0: return 17;
    case 1: return 5;
    case 2: return 99;
    case 3: return 1234;
    case 4: return -7;
    case 5: return 3;
    case 6: return 88;
    default: return 100;
    }
}

__global__ void look(int *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, n = i % 8;
    static const int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
    const int local[8] = {5, 3, 8, 1, 9, 2, 7, 4};
    const char *text = "abcdefgh";
    const int global = big.words[(i * 37) % kWords] + squares[n] + primes[n] + text[n] + of_host[n];
    const int elsewhere = cubes[n] + set_by_host[n] + local[n] + choose(n) + squares[3];
    out[i] = global + elsewhere;
}

int main() {
    const int cubes_here[8] = {0, 1, 8, 27, 64, 125, 216, 343}, primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
    const int local[8] = {5, 3, 8, 1, 9, 2, 7, 4}, chosen[8] = {17, 5, 99, 1234, -7, 3, 88, 100};
    int set[8], actual[kCount], read[8], wrong = 0, *out = nullptr;
    for (int i = 0; i < 8; ++i) set[i] = 1000 * i;
    cudaMemcpyToSymbol(set_by_host, set, sizeof set);
    cudaMalloc(&out, sizeof actual);
    look<<<kCtas, kThreads>>>(out);
    cudaMemcpy(actual, out, sizeof actual, cudaMemcpyDeviceToHost);
    for (int i = 0; i < kCount; ++i) {
        const int n = i % 8;
        const int global = 3 * (i * 37 % kWords) + n * n + primes[n] + 'a' + n + 7 - n;
        wrong += actual[i] != global + cubes_here[n] + set[n] + local[n] + chosen[n] + 9;
    }
    cudaMemcpyFromSymbol(read, squares, sizeof read);
    for (int i = 0; i < 8; ++i) wrong += read[i] != i * i;
    printf("%d wrong, %s\n%s\n", wrong, cudaGetErrorString(cudaGetLastError()), wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
