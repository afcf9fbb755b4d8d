// Devices and their memory: the current device of each host thread, copies between peers, memory pools, managed memory with advice and
// prefetches, host functions and callbacks. Runs on any number of devices; a single device is its own peer.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <thread>
static bool failed = false;
static void expect(bool holds, const char *what, int line) {
    if (holds) return;
    printf("line %d: expected %s (%s)\n", line, what, cudaGetErrorName(cudaGetLastError()));
    failed = true;
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)
#define WORKS(call) EXPECT((call) == cudaSuccess)

constexpr int n = 512;
__global__ void add(int *data, int value) { data[blockIdx.x * blockDim.x + threadIdx.x] += value; }

static void peers(int last) {
    int *data[2], host[n], can = -1, device = -1;
    cudaStream_t stream[2];
    int ordinals[2] = {0, last};
    for (int i = 0; i < 2; i++) {
        WORKS(cudaSetDevice(ordinals[i]));
        WORKS(cudaGetDevice(&device));
        EXPECT(device == ordinals[i]);
        WORKS(cudaMalloc(&data[i], n * sizeof(int)));
        WORKS(cudaStreamCreate(&stream[i]));
        cudaPointerAttributes attributes;
        WORKS(cudaPointerGetAttributes(&attributes, data[i]));
        EXPECT(attributes.device == ordinals[i]);
    }
    std::thread([&] {
        int first = -1;
        WORKS(cudaGetDevice(&first));
        EXPECT(first == 0);
    }).join();
    WORKS(cudaDeviceCanAccessPeer(&can, 0, last));
    EXPECT(last > 0 || can == 0);
    EXPECT(cudaSetDevice(last + 1000) == cudaErrorInvalidDevice);
    cudaGetLastError();
    if (can) {
        int supported = 0;
        WORKS(cudaDeviceGetP2PAttribute(&supported, cudaDevP2PAttrAccessSupported, 0, last));
        EXPECT(supported);
        WORKS(cudaSetDevice(last));
        WORKS(cudaDeviceEnablePeerAccess(0, 0));
        EXPECT(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessAlreadyEnabled);
        cudaGetLastError();
        WORKS(cudaDeviceDisablePeerAccess(0));
    }
    WORKS(cudaSetDevice(0));
    WORKS(cudaMemsetAsync(data[0], 0, n * sizeof(int), stream[0]));
    add<<<n / 64, 64, 0, stream[0]>>>(data[0], 5);
    WORKS(cudaMemcpyPeerAsync(data[1], last, data[0], 0, n * sizeof(int), stream[0]));
    WORKS(cudaStreamSynchronize(stream[0]));
    WORKS(cudaSetDevice(last));
    add<<<n / 64, 64, 0, stream[1]>>>(data[1], 6);
    WORKS(cudaStreamSynchronize(stream[1]));
    WORKS(cudaSetDevice(0));
    WORKS(cudaMemcpyPeer(data[0], 0, data[1], last, n * sizeof(int)));
    WORKS(cudaMemcpy(host, data[0], sizeof host, cudaMemcpyDefault));
    EXPECT(host[0] == 11 && host[n - 1] == 11);
    for (int i = 0; i < 2; i++) {
        WORKS(cudaStreamDestroy(stream[i]));
        WORKS(cudaFree(data[i]));
    }
}

static void pools(cudaStream_t stream) {
    cudaMemPool_t standard, own, now;
    int *a, *b, host[n];
    unsigned long long threshold = ~0ull, used = 0;
    WORKS(cudaDeviceGetDefaultMemPool(&standard, 0));
    WORKS(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrReleaseThreshold, &threshold));
    threshold = 0;
    WORKS(cudaMemPoolGetAttribute(standard, cudaMemPoolAttrReleaseThreshold, &threshold));
    EXPECT(threshold == ~0ull);
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    WORKS(cudaMemPoolCreate(&own, &properties));
    WORKS(cudaMallocAsync(&a, n * sizeof(int), stream));
    WORKS(cudaMallocFromPoolAsync(&b, n * sizeof(int), own, stream));
    WORKS(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT(used >= n * sizeof(int));
    WORKS(cudaMemsetAsync(a, 0, n * sizeof(int), stream));
    add<<<n / 64, 64, 0, stream>>>(a, 7);
    WORKS(cudaMemcpyAsync(b, a, n * sizeof(int), cudaMemcpyDeviceToDevice, stream));
    add<<<n / 64, 64, 0, stream>>>(b, 8);
    WORKS(cudaMemcpyAsync(host, b, sizeof host, cudaMemcpyDeviceToHost, stream));
    WORKS(cudaFreeAsync(a, stream));
    WORKS(cudaFreeAsync(b, stream));
    WORKS(cudaStreamSynchronize(stream));
    EXPECT(host[3] == 15);
    WORKS(cudaMemPoolTrimTo(own, 0));
    WORKS(cudaDeviceSetMemPool(0, own));
    WORKS(cudaDeviceGetMemPool(&now, 0));
    EXPECT(now == own);
    WORKS(cudaDeviceSetMemPool(0, standard));
    WORKS(cudaMemPoolDestroy(own));
}

static int called = 0;
static void CUDART_CB by_stream(cudaStream_t, cudaError_t status, void *to) { *(int *)to += status == cudaSuccess ? 1 : 100; }

static void managed(cudaStream_t stream) {
    int *data;
    WORKS(cudaMallocManaged(&data, n * sizeof(int)));
    memset(data, 0, n * sizeof(int));
    WORKS(cudaMemAdvise(data, n * sizeof(int), cudaMemAdviseSetPreferredLocation, 0));
    WORKS(cudaMemPrefetchAsync(data, n * sizeof(int), 0, stream));
    add<<<n / 64, 64, 0, stream>>>(data, 9);
    WORKS(cudaMemPrefetchAsync(data, n * sizeof(int), cudaCpuDeviceId, stream));
    WORKS(cudaStreamAddCallback(stream, by_stream, &called, 0));
    WORKS(cudaLaunchHostFunc(stream, [](void *to) { *(int *)to += 10; }, &called));
    WORKS(cudaStreamSynchronize(stream));
    EXPECT(data[1] == 9 && called == 11);
    WORKS(cudaFree(data));
}

int main() {
    int devices = 0;
    cudaStream_t stream;
    WORKS(cudaGetDeviceCount(&devices));
    peers(devices - 1);
    WORKS(cudaStreamCreate(&stream));
    pools(stream);
    managed(stream);
    printf(failed ? "FAILED\n" : "PASSED\n");
    return failed;
}
