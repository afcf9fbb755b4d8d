// CUDA graphs: captured from two streams, built from nodes of every kind, cloned, changed and updated between launches, and nested.
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

constexpr int n = 1024;
struct Pair { int add, times; };

__global__ void step(int *data, Pair by, const int *other) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = data[i] * by.times + by.add + (other ? other[i] : 0);
}
__device__ int factor[4];
__global__ void scale(int *data) { data[blockIdx.x * blockDim.x + threadIdx.x] *= factor[1]; }

static int called = 0;
static void CUDART_CB count(void *by) { called += *(int *)by; }

// Two chains between a common start and end, with a copy, a memset, a host function and memory that the graph owns.
static void captured(cudaStream_t main, cudaStream_t side, int *a, int *b, int *host) {
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    cudaStreamCaptureStatus status;
    static int by = 3;
    WORKS(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    WORKS(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    WORKS(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal));
    WORKS(cudaMemcpyAsync(a, host, n * sizeof(int), cudaMemcpyHostToDevice, main));
    WORKS(cudaEventRecord(fork, main));
    WORKS(cudaStreamWaitEvent(side, fork, 0));
    WORKS(cudaStreamIsCapturing(side, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    WORKS(cudaMemsetAsync(b, 0, n * sizeof(int), side));
    step<<<n / 128, 128, 0, side>>>(b, Pair{5, 1}, nullptr);
    step<<<n / 128, 128, 0, main>>>(a, Pair{1, 2}, nullptr);
    WORKS(cudaLaunchHostFunc(side, count, &by));
    WORKS(cudaEventRecord(join, side));
    WORKS(cudaStreamWaitEvent(main, join, 0));
    step<<<n / 128, 128, 0, main>>>(a, Pair{0, 1}, b);
    WORKS(cudaMemcpyAsync(host, a, n * sizeof(int), cudaMemcpyDeviceToHost, main));
    WORKS(cudaStreamEndCapture(main, &graph));
    WORKS(cudaStreamIsCapturing(side, &status));
    EXPECT(status == cudaStreamCaptureStatusNone && called == 0);
    size_t nodes = 0, roots = 0, edges = 0;
    WORKS(cudaGraphGetNodes(graph, nullptr, &nodes));
    WORKS(cudaGraphGetRootNodes(graph, nullptr, &roots));
    EXPECT(nodes >= 7 && roots == 1);
    WORKS(cudaGraphInstantiate(&instance, graph, 0));
    WORKS(cudaGraphDestroy(graph));
    for (int i = 0; i < n; i++) host[i] = i;
    for (int launch = 0; launch < 3; launch++) WORKS(cudaGraphLaunch(instance, main));
    WORKS(cudaStreamSynchronize(main));
    bool correct = called == 9;
    for (int i = 0; i < n; i++) correct &= host[i] == ((i * 2 + 6) * 2 + 6) * 2 + 6;
    EXPECT(correct);
    WORKS(cudaGraphExecDestroy(instance));
    WORKS(cudaEventDestroy(fork));
    WORKS(cudaEventDestroy(join));
}

static cudaKernelNodeParams step_parameters(void **arguments) {
    cudaKernelNodeParams p = {};
    p.func = (void *)step, p.gridDim = n / 128, p.blockDim = 128, p.kernelParams = arguments;
    return p;
}

// Nodes of every kind.
static void nodes(cudaStream_t stream, int *a, int *host) {
    cudaGraph_t graph, child, clone;
    cudaGraphNode_t fill, first, second, copy, call, inner, empty, symbol, found;
    cudaGraphExec_t instance, clone_instance;
    WORKS(cudaGraphCreate(&graph, 0));
    WORKS(cudaGraphCreate(&child, 0));
    cudaMemsetParams memset = {};
    memset.dst = a, memset.value = 7, memset.elementSize = 4, memset.width = n, memset.height = 1;
    WORKS(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &memset));
    int factors[4] = {1, 4, 1, 1};
    WORKS(cudaGraphAddMemcpyNodeToSymbol(&symbol, graph, nullptr, 0, factor, factors, sizeof factors, 0, cudaMemcpyHostToDevice));
    Pair by{1, 10};
    const int *none = nullptr;
    void *arguments[] = {&a, &by, &none};
    cudaKernelNodeParams p = step_parameters(arguments);
    WORKS(cudaGraphAddKernelNode(&first, graph, &fill, 1, &p));
    // Arguments are copied when the node is added.
    by = Pair{2, 1};
    cudaKernelNodeParams scale_parameters = {};
    void *scale_arguments[] = {&a};
    scale_parameters.func = (void *)scale, scale_parameters.gridDim = n / 256, scale_parameters.blockDim = 256;
    scale_parameters.kernelParams = scale_arguments;
    WORKS(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &scale_parameters));
    cudaGraphNode_t dependencies[] = {first, symbol};
    WORKS(cudaGraphAddChildGraphNode(&second, graph, dependencies, 2, child));
    WORKS(cudaGraphAddEmptyNode(&empty, graph, &second, 1));
    cudaMemcpy3DParms parameters = {};
    parameters.srcPtr = make_cudaPitchedPtr(a, n * sizeof(int), n, 1);
    parameters.dstPtr = make_cudaPitchedPtr(host, n * sizeof(int), n, 1);
    parameters.extent = make_cudaExtent(n * sizeof(int), 1, 1);
    parameters.kind = cudaMemcpyDeviceToHost;
    WORKS(cudaGraphAddMemcpyNode(&copy, graph, &empty, 1, &parameters));
    static int by_one = 1;
    cudaHostNodeParams host_call = {count, &by_one};
    WORKS(cudaGraphAddHostNode(&call, graph, nullptr, 0, &host_call));
    WORKS(cudaGraphAddDependencies(graph, &copy, &call, 1));
    cudaGraphNodeType type;
    WORKS(cudaGraphNodeGetType(second, &type));
    EXPECT(type == cudaGraphNodeTypeGraph);
    size_t dependency_count = 0;
    WORKS(cudaGraphNodeGetDependencies(second, nullptr, &dependency_count));
    EXPECT(dependency_count == 2);
    WORKS(cudaGraphInstantiate(&instance, graph, 0));
    called = 0;
    WORKS(cudaGraphLaunch(instance, stream));
    WORKS(cudaStreamSynchronize(stream));
    EXPECT(host[0] == 71 * 4 && host[n - 1] == 71 * 4 && called == 1);
    // Changes one node of the instance; a clone keeps the original work.
    WORKS(cudaGraphClone(&clone, graph));
    WORKS(cudaGraphNodeFindInClone(&found, first, clone));
    p = step_parameters(arguments);
    WORKS(cudaGraphExecKernelNodeSetParams(instance, first, &p));
    WORKS(cudaGraphLaunch(instance, stream));
    WORKS(cudaStreamSynchronize(stream));
    EXPECT(host[5] == 9 * 4);
    WORKS(cudaGraphInstantiate(&clone_instance, clone, 0));
    WORKS(cudaGraphLaunch(clone_instance, stream));
    WORKS(cudaStreamSynchronize(stream));
    EXPECT(host[5] == 71 * 4);
    // Updates the whole instance from another graph of the same shape.
    WORKS(cudaGraphKernelNodeSetParams(found, &p));
    cudaGraphExecUpdateResultInfo info;
    WORKS(cudaGraphExecUpdate(clone_instance, clone, &info));
    EXPECT(info.result == cudaGraphExecUpdateSuccess);
    WORKS(cudaGraphLaunch(clone_instance, stream));
    WORKS(cudaStreamSynchronize(stream));
    EXPECT(host[5] == 9 * 4 && called == 4);
    EXPECT(cudaGraphExecUpdate(clone_instance, child, &info) == cudaErrorGraphExecUpdateFailure);
    cudaGetLastError();
    WORKS(cudaGraphExecDestroy(instance));
    WORKS(cudaGraphExecDestroy(clone_instance));
    WORKS(cudaGraphDestroy(clone));
    WORKS(cudaGraphDestroy(child));
    WORKS(cudaGraphDestroy(graph));
}

int main() {
    int *a, *b, *host;
    cudaStream_t main, side;
    WORKS(cudaMalloc(&a, n * sizeof(int)));
    WORKS(cudaMalloc(&b, n * sizeof(int)));
    WORKS(cudaMallocHost(&host, n * sizeof(int)));
    WORKS(cudaStreamCreate(&main));
    WORKS(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    captured(main, side, a, b, host);
    nodes(main, a, host);
    WORKS(cudaDeviceSynchronize());
    printf(failed ? "FAILED\n" : "PASSED\n");
    return failed;
}
