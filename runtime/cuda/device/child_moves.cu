// Copies and memsets that kernels asked for (`src/children.rs`): the host may not touch the device's heap, where their memory may lie.
// `child_moves.ptx` is this file compiled (tests/device_code.rs compares them).

extern "C" __global__ void __superstep_child_copy_bytes(unsigned char *to, const unsigned char *from, unsigned long long bytes) {
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += gridDim.x * blockDim.x) to[i] = from[i];
}

extern "C" __global__ void __superstep_child_fill_bytes(unsigned char *to, unsigned long long value, unsigned long long bytes) {
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += gridDim.x * blockDim.x) to[i] = value;
}
