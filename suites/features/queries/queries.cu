// Runtime queries: per-thread errors (sticky and non-sticky), events, pinned, mapped and managed memory, attributes,
// occupancy, stream-ordered memory and host functions; also memory that one kernel allocates and another frees.
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>
#include <cuda_runtime.h>
#include <omp.h>
static bool failed = false;
static void expect(bool holds, const char *what, int line) {
    if (holds) return;
    printf("line %d: expected %s\n", line, what);
    failed = true;
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

__global__ void add(int *v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(v + i, 1);
}

__global__ void grow(int **place, int n) {
    int *mine = (int *)malloc(n * sizeof(int));
    mine[0] = threadIdx.x;
    place[threadIdx.x] = mine;
}
__global__ void shrink(int **place, int *out) { out[threadIdx.x] = place[threadIdx.x][0]; free(place[threadIdx.x]); }
int main() {
    // A call's error persists until it is queried; each host thread has its own.
    EXPECT(cudaGetLastError() == cudaSuccess);
    EXPECT(cudaMalloc((void **)nullptr, 4) == cudaErrorInvalidValue);
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidValue);
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidValue);
    std::thread([] { EXPECT(cudaPeekAtLastError() == cudaSuccess); }).join();
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaSuccess);
    int *d = nullptr;
    EXPECT(cudaMalloc(&d, 1024 * sizeof(int)) == cudaSuccess);
    EXPECT(cudaMemset(d, 0, 1024 * sizeof(int)) == cudaSuccess);
    add<<<1, 2048>>>(d, 10);
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    void *huge = nullptr;
    EXPECT(cudaMalloc(&huge, (size_t)1 << 60) == cudaErrorMemoryAllocation);
    EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
    EXPECT(cudaFree((void *)16) == cudaErrorInvalidValue);
    cudaGetLastError();
    cudaEvent_t early, late;
    EXPECT(cudaEventCreate(&early) == cudaSuccess && cudaEventCreate(&late) == cudaSuccess);
    float ms = -1;
    EXPECT(cudaEventElapsedTime(&ms, early, late) == cudaErrorInvalidResourceHandle);
    cudaGetLastError();
    EXPECT(cudaEventRecord(early) == cudaSuccess);
    for (int i = 0; i < 20; i++) add<<<4, 256>>>(d, 1024);
    EXPECT(cudaEventRecord(late) == cudaSuccess);
    EXPECT(cudaEventSynchronize(late) == cudaSuccess && cudaEventQuery(late) == cudaSuccess);
    EXPECT(cudaEventElapsedTime(&ms, early, late) == cudaSuccess && ms > 0 && ms < 60000);
    // Host memory that kernels can access.
    int *pinned = nullptr, *view = nullptr;
    EXPECT(cudaHostAlloc(&pinned, 256 * sizeof(int), cudaHostAllocMapped) == cudaSuccess);
    memset(pinned, 0, 256 * sizeof(int));
    EXPECT(cudaHostGetDevicePointer(&view, pinned, 0) == cudaSuccess);
    add<<<1, 256>>>(view, 256);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(pinned[0] == 1 && pinned[255] == 1);
    cudaPointerAttributes a{};
    EXPECT(cudaPointerGetAttributes(&a, pinned) == cudaSuccess && a.type == cudaMemoryTypeHost && a.devicePointer != nullptr);
    EXPECT(cudaPointerGetAttributes(&a, d) == cudaSuccess && a.type == cudaMemoryTypeDevice && a.devicePointer == d);
    EXPECT(cudaPointerGetAttributes(&a, &ms) == cudaSuccess && a.type == cudaMemoryTypeUnregistered);
    unsigned flags = 0;
    EXPECT(cudaHostGetFlags(&flags, pinned) == cudaSuccess && (flags & cudaHostAllocMapped));
    std::vector<int> own(1024);
    EXPECT(cudaHostRegister(own.data(), own.size() * sizeof(int), cudaHostRegisterMapped) == cudaSuccess);
    EXPECT(cudaHostGetDevicePointer(&view, own.data(), 0) == cudaSuccess);
    add<<<4, 256>>>(view, 1024);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && own[1023] == 1);
    EXPECT(cudaHostUnregister(own.data()) == cudaSuccess);
    EXPECT(cudaFreeHost(pinned) == cudaSuccess);
    int *managed = nullptr;
    EXPECT(cudaMallocManaged(&managed, 64 * sizeof(int)) == cudaSuccess);
    memset(managed, 0, 64 * sizeof(int));
    add<<<1, 64>>>(managed, 64);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && managed[63] == 1);
    EXPECT(cudaPointerGetAttributes(&a, managed) == cudaSuccess && a.type == cudaMemoryTypeManaged);
    cudaFree(managed);
    // Attributes and occupancy.
    int n = 0, minimum = 0, block = 0, value = 0;
    EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, add, 256, 0) == cudaSuccess && n >= 1);
    EXPECT(cudaOccupancyMaxPotentialBlockSize(&minimum, &block, add) == cudaSuccess && minimum >= 1 && block >= 32);
    EXPECT(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0) == cudaSuccess && value == 1024);
    EXPECT(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0) == cudaSuccess && value == 32);
    EXPECT(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess && value >= 1);
    EXPECT(cudaDeviceGetAttribute(&value, cudaDevAttrClockRate, 0) == cudaSuccess && value > 0);
    cudaFuncAttributes fa{};
    EXPECT(cudaFuncGetAttributes(&fa, add) == cudaSuccess && fa.maxThreadsPerBlock >= 32);
    cudaDeviceProp p{};
    EXPECT(cudaGetDeviceProperties(&p, 0) == cudaSuccess && p.warpSize == 32 && p.totalGlobalMem > 0 && p.name[0]);
    size_t free_bytes = 0, total = 0;
    EXPECT(cudaMemGetInfo(&free_bytes, &total) == cudaSuccess && free_bytes > 0 && free_bytes <= total);
    EXPECT(cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10) == cudaSuccess);
    size_t limit = 0;
    EXPECT(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize) == cudaSuccess && limit > 0);
    EXPECT(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20) == cudaSuccess);
    EXPECT(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"));
    // The device heap.
    int **places, *out, host[32];
    EXPECT(cudaMalloc(&places, 32 * sizeof(int *)) == cudaSuccess && cudaMalloc(&out, 32 * sizeof(int)) == cudaSuccess);
    grow<<<1, 32>>>(places, 1000);
    shrink<<<1, 32>>>(places, out);
    EXPECT(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess && host[31] == 31);
    EXPECT(cudaGetLastError() == cudaSuccess);
    // Stream-ordered memory and host functions.
    cudaStream_t s;
    EXPECT(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess);
    static int called = 0;
    EXPECT(cudaLaunchHostFunc(s, [](void *p) { ++*(int *)p; }, &called) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(s) == cudaSuccess && called == 1);
    int *async = nullptr;
    EXPECT(cudaMallocAsync(&async, 4096, s) == cudaSuccess);
    EXPECT(cudaMemsetAsync(async, 0, 4096, s) == cudaSuccess);
    add<<<4, 256, 0, s>>>(async, 1024);
    EXPECT(cudaFreeAsync(async, s) == cudaSuccess);
    EXPECT(cudaStreamQuery(s) == cudaSuccess || cudaStreamSynchronize(s) == cudaSuccess);
    EXPECT(cudaStreamDestroy(s) == cudaSuccess);
    // Compiled without OpenMP and therefore not linked with it.
    EXPECT(omp_get_max_threads() == 1);
    printf(failed ? "FAILED\n" : "PASSED\n");
    return failed;
}
