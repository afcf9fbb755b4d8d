// Launches that CUDA refuses, through every launch interface: nothing runs, and the program receives the error and continues.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void __launch_bounds__(128) bounded(int *words) { words[threadIdx.x] += 1; }

__global__ void shared(int *words) {
    extern __shared__ int own[];
    own[threadIdx.x] = words[threadIdx.x];
    __syncthreads();
    words[threadIdx.x] = own[threadIdx.x] + 1;
}

static bool good = true;

static void expect(const char *what, cudaError_t error, cudaError_t expected) {
    const cudaError_t last = cudaGetLastError();
    if (error == expected && last == expected) return;
    printf("%s: %s, last error %s, not %s\n", what, cudaGetErrorName(error), cudaGetErrorName(last), cudaGetErrorName(expected));
    good = false;
}

static void launch(const char *what, void (*kernel)(int *), int *words, unsigned threads, size_t bytes, cudaError_t expected,
                   cudaError_t cooperative) {
    kernel<<<1, threads, bytes>>>(words);
    expect(what, cudaPeekAtLastError(), expected);
    void *arguments[] = {&words};
    expect(what, cudaLaunchKernel((const void *)kernel, 1, threads, arguments, bytes, nullptr), expected);
    expect(what, cudaLaunchCooperativeKernel((const void *)kernel, 1, threads, arguments, bytes, nullptr), cooperative);
    cudaLaunchConfig_t configuration = {};
    configuration.gridDim = 1;
    configuration.blockDim = threads;
    configuration.dynamicSmemBytes = bytes;
    expect(what, cudaLaunchKernelExC(&configuration, (const void *)kernel, arguments), expected);
}

int main() {
    int *words = nullptr, value = 0;
    good = cudaMalloc(&words, 1024 * sizeof *words) == cudaSuccess && cudaMemset(words, 0, 1024 * sizeof *words) == cudaSuccess;
    const size_t many = 60 << 10, too_many = 1 << 20;
    launch("a CTA that exceeds its launch bounds", bounded, words, 256, 0, cudaErrorInvalidValue, cudaErrorInvalidValue);
    launch("a CTA within its launch bounds", bounded, words, 128, 0, cudaSuccess, cudaSuccess);
    launch("more shared memory than the default limit", shared, words, 32, many, cudaErrorInvalidValue, cudaErrorCooperativeLaunchTooLarge);
    expect("more shared memory", cudaFuncSetAttribute(shared, cudaFuncAttributeMaxDynamicSharedMemorySize, many), cudaSuccess);
    launch("as much shared memory as requested", shared, words, 32, many, cudaSuccess, cudaSuccess);
    launch("more shared memory than the device has", shared, words, 32, too_many, cudaErrorInvalidValue, cudaErrorCooperativeLaunchTooLarge);
    good &= cudaMemcpy(&value, words + 31, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess && value == 8;
    puts(good ? "PASSED" : "FAILED");
    return !good;
}
