// Device-side launches: children and their children, in the order in which a CTA requests them, with arguments of every size, and copies and
// allocations in the same order.
#include <cstdio>
#include <cuda_runtime.h>
static bool failed = false;
static void expect(bool holds, const char *what, int line) {
    if (holds) return;
    printf("line %d: expected %s (%s)\n", line, what, cudaGetErrorName(cudaGetLastError()));
    failed = true;
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)
#define WORKS(call) EXPECT((call) == cudaSuccess)

constexpr int threads = 64, parts = 8, n = threads * parts;
struct Scale { float by[3]; short plus; };

__global__ void scale(char first, int *data, Scale scale, float4 more, double last) {
    extern __shared__ int own[];
    own[threadIdx.x] = data[threadIdx.x] * (int)scale.by[1] + scale.plus + (int)more.z + (int)last + first;
    __syncthreads();
    data[threadIdx.x] = own[blockDim.x - 1 - threadIdx.x];
}

// Launches two children in succession, both on the CTA's part of the data.
__global__ void parent(int *data) {
    if (threadIdx.x != 0) return;
    int *part = data + blockIdx.x * threads;
    Scale by{{0, 2, 0}, 3};
    scale<<<1, threads, threads * sizeof(int)>>>(1, part, by, make_float4(0, 0, 4, 0), 5.5);
    by.by[1] = 3;
    scale<<<1, threads, threads * sizeof(int)>>>(-1, part, by, make_float4(9, 9, 0, 9), 1.0);
}

// Splits the data in half, and each half again, until the parts are short.
__global__ void halve(int *data, int count, int depth) {
    if (threadIdx.x == 0 && count > threads) {
        cudaStream_t stream;
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        halve<<<1, 32, 0, stream>>>(data, count / 2, depth + 1);
        halve<<<1, 32>>>(data + count / 2, count / 2, depth + 1);
        cudaStreamDestroy(stream);
    } else if (count <= threads) {
        for (int i = threadIdx.x; i < count; i += 32) data[i] += depth * 1000;
    }
}

struct Line { int *values; int count; };
__global__ void fill(Line *lines, int line) { lines[line].values[threadIdx.x] = line * 100 + threadIdx.x; }
// Allocates each line on the device heap; a child fills the line, which is then copied.
__global__ void lines(Line *lines, int *out) {
    Line &line = lines[threadIdx.x];
    line.count = 10 + threadIdx.x;
    cudaMalloc((void **)&line.values, line.count * sizeof(int));
    fill<<<1, line.count>>>(lines, threadIdx.x);
    cudaMemcpyAsync(out + threadIdx.x * 32, line.values, line.count * sizeof(int), cudaMemcpyDeviceToDevice, 0);
}
__global__ void release(Line *lines) { cudaFree(lines[threadIdx.x].values); }

int main() {
    int *data, host[n];
    WORKS(cudaMalloc(&data, sizeof host));
    for (int i = 0; i < n; i++) host[i] = i;
    WORKS(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
    parent<<<parts, 32>>>(data);
    WORKS(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    bool correct = true;
    for (int i = 0; i < n; i++) correct &= host[i] == (i * 2 + 3 + 4 + 5 + 1) * 3 + 3 + 0 + 1 - 1;
    EXPECT(correct);
    halve<<<1, 32>>>(data, n, 0);
    WORKS(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) correct &= host[i] == (i * 2 + 13) * 3 + 3 + 3000;
    EXPECT(correct);
    Line *table;
    WORKS(cudaMalloc(&table, 8 * sizeof(Line)));
    WORKS(cudaMemset(data, 0, sizeof host));
    lines<<<1, 8>>>(table, data);
    release<<<1, 8>>>(table);
    WORKS(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int line = 0; line < 8; line++)
        for (int i = 0; i < 32; i++) correct &= host[line * 32 + i] == (i < 10 + line ? line * 100 + i : 0);
    EXPECT(correct);
    printf(failed ? "FAILED\n" : "PASSED\n");
    return failed;
}
