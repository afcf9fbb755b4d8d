// nvcc --default-stream per-thread: stream 0 is the calling host thread's own stream. It differs from the other threads'
// streams and the legacy stream, and can be captured or join another thread's capture through an event.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>

#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "the macro is missing"
#endif

#define CHECK(call)                                                                       \
    do {                                                                                  \
        const cudaError_t error = (call);                                                 \
        if (error != cudaSuccess) {                                                       \
            std::printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(error));   \
            std::exit(1);                                                                 \
        }                                                                                 \
    } while (0)
#define EXPECT(condition)                                             \
    do {                                                              \
        if (!(condition)) {                                           \
            std::printf("line %d: expected %s\n", __LINE__, #condition); \
            failures++;                                               \
        }                                                             \
    } while (0)

unsigned long long default_stream_of_host_code();
cudaError_t clear_in_host_code(int *p);

int failures = 0;
constexpr int parts = 4, threads = 32;

__global__ void add(int *p, int v) { p[threadIdx.x] += v; }

unsigned long long id_of(cudaStream_t stream) {
    unsigned long long id = 0;
    CHECK(cudaStreamGetId(stream, &id));
    return id;
}

cudaStreamCaptureStatus status_of(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CHECK(cudaStreamIsCapturing(stream, &status));
    return status;
}

template <class Work>
void in_another_thread(Work work) {
    std::thread thread(work);
    thread.join();
}

int main() {
    int *data;
    CHECK(cudaMalloc(&data, parts * threads * sizeof(int)));
    CHECK(cudaMemset(data, 0, parts * threads * sizeof(int)));
    auto part = [&](int number) { return data + number * threads; };

    // Two threads, each with its own stream 0.
    unsigned long long ids[2];
    for (int number = 0; number < 2; number++) {
        in_another_thread([&] {
            for (int i = 0; i < 3; i++) add<<<1, threads>>>(part(number), number + 1);
            CHECK(cudaStreamSynchronize(0));
            ids[number] = id_of(0);
            EXPECT(id_of(cudaStreamPerThread) == ids[number] && id_of(cudaStreamLegacy) != ids[number]);
            EXPECT(default_stream_of_host_code() == ids[number]);
        });
    }
    const unsigned long long own = id_of(0), legacy = id_of(cudaStreamLegacy);
    EXPECT(ids[0] != ids[1] && ids[0] != own && ids[1] != own && own != legacy);
    in_another_thread([&] { EXPECT(id_of(cudaStreamLegacy) == legacy); });
    add<<<1, threads, 0, cudaStreamLegacy>>>(part(0), 10);
    add<<<1, threads, 0, cudaStreamPerThread>>>(part(1), 10);

    // A capture in this thread's stream, which another thread's stream joins; a third thread's does not.
    cudaGraph_t graph;
    cudaEvent_t fork, join;
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    EXPECT(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeRelaxed) == cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();
    CHECK(cudaStreamBeginCapture(0, cudaStreamCaptureModeRelaxed));
    EXPECT(status_of(cudaStreamPerThread) == cudaStreamCaptureStatusActive);
    add<<<1, threads>>>(part(0), 100);
    CHECK(cudaEventRecord(fork, 0));
    in_another_thread([&] {
        EXPECT(status_of(0) == cudaStreamCaptureStatusNone);
        CHECK(cudaStreamWaitEvent(0, fork, 0));
        EXPECT(status_of(0) == cudaStreamCaptureStatusActive);
        add<<<1, threads>>>(part(1), 100);
        CHECK(cudaEventRecord(join, 0));
    });
    in_another_thread([&] {
        add<<<1, threads>>>(part(3), 1);
        CHECK(cudaStreamSynchronize(0));
    });
    CHECK(clear_in_host_code(part(2)));
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = threads;
    CHECK(cudaLaunchKernelEx(&config, add, part(2), 1000));
    CHECK(cudaStreamWaitEvent(0, join, 0));
    CHECK(cudaStreamEndCapture(0, &graph));
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 4);
    cudaGraphExec_t instance;
    CHECK(cudaGraphInstantiate(&instance, graph, 0));
    for (int i = 0; i < 2; i++) CHECK(cudaGraphLaunch(instance, 0));

    // A copy in this thread's stream waits for all previous work.
    int found[parts * threads];
    CHECK(cudaMemcpy(found, data, sizeof found, cudaMemcpyDeviceToHost));
    const int expected[parts] = {3 * 1 + 10 + 2 * 100, 3 * 2 + 10 + 2 * 100, 1000, 1};
    for (int i = 0; i < parts * threads; i++) EXPECT(found[i] == expected[i / threads]);
    std::printf(failures ? "FAILED\n" : "PASSED\n");
    return failures != 0;
}
