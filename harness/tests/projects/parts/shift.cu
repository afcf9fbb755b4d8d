#include "parts.h"
// A static kernel with the same name as the other library's.
static __global__ void kernel(int *to, const int *from, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[(i + 1) % count] + 1;
}
void shift(int *to, const int *from, int count) { kernel<<<(count + 127) / 128, 128>>>(to, from, count); }
