// Host code that the host compiler compiles with the same default stream as own_streams.cu.
#include <cuda_runtime.h>

unsigned long long default_stream_of_host_code() {
    unsigned long long id = 0;
    return cudaStreamGetId(0, &id) == cudaSuccess ? id : 0;
}

// Uses stream 0 of the calling thread, so the fill becomes part of that stream's capture.
cudaError_t clear_in_host_code(int *p) { return cudaMemsetAsync(p, 0, 32 * sizeof(int)); }
