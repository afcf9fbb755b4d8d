// Performs copies and fills that kernels requested (src/recorder/launch/children.rs). The memory may be in the device's
// heap, which the host must not access. child_moves.ptx is compiled from this file (tests/device_code.rs compares
// them).

extern "C" __global__ void __superstep_child_copy_bytes(unsigned char *to, const unsigned char *from, unsigned long long bytes) {
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += gridDim.x * blockDim.x) to[i] = from[i];
}

extern "C" __global__ void __superstep_child_fill_bytes(unsigned char *to, unsigned long long value, unsigned long long bytes) {
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += gridDim.x * blockDim.x) to[i] = value;
}
