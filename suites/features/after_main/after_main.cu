// Launches after main: by thread_local variables of a thread and of the main thread, an atexit handler, and a static
// variable. Each adds to the results of those before it, so the sums show that all of them ran and in which order. CUDA
// calls fail in a handler and a destructor registered before the first CUDA call.
#include <cstdio>
#include <cstdlib>
#include <thread>

constexpr int kThreads = 64;

__global__ void add(int *numbers, int value) { numbers[threadIdx.x] += value; }

static int *numbers;
static cudaGraphExec_t instance;

static void show(const char *name) {
    int values[kThreads] = {}, sum = 0;
    const cudaError_t error = cudaMemcpy(values, numbers, sizeof values, cudaMemcpyDeviceToHost);
    for (int number : values) sum += number;
    printf("%s: %d, %s, %s\n", name, sum, cudaGetErrorName(error), cudaGetErrorName(cudaGetLastError()));
}

static void launch(const char *name, int value) {
    add<<<1, kThreads>>>(numbers, value);
    show(name);
}

struct Late {
    const char *name;
    int value;
    ~Late() {
        if (value == 0) return;
        launch(name, value);
        if (value != 5) return;
        cudaGraphLaunch(instance, nullptr);
        show("graph");
    }
};

static Late global{"global", 9};
static thread_local Late thread_late{"thread_local", 0};

int main() {
    atexit([] { launch("early", 6); });
    cudaMalloc(&numbers, kThreads * sizeof *numbers);
    cudaMemset(numbers, 0, kThreads * sizeof *numbers);
    launch("main", 1);

    cudaStream_t stream;
    cudaGraph_t graph;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    add<<<1, kThreads, 0, stream>>>(numbers, 1);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&instance, graph, 0);

    std::thread([] { thread_late.value = 2; }).join();
    thread_late.value = 3;
    static Late in_main{"static", 5};
    atexit([] { launch("atexit", 4); });
    return 0;
}
