// A program that probes itself: the first of every ten launches counts its branches, and the others run at native
// speed.
//
//   superstep probe branches sampled.cu
//
// writes the probed launches to `probed.txt`, in addition to the program's output. The program also runs without
// Superstep.
#include <superstep/runtime.h>

#include <cstdio>

__global__ void collatz(unsigned *steps, unsigned first, unsigned count) {
  const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= count) return;
  unsigned taken = 0;
  for (unsigned long long n = first + index; n > 1; ++taken) n = n % 2 ? 3 * n + 1 : n / 2;
  steps[index] = taken;
}

static void print_launch(const superstep_launch *launch, void *file) {
  std::fprintf(static_cast<FILE *>(file), "launch %u: %llu branches, of which %llu split a warp\n", launch->launch,
               superstep_total(launch, "executions"), superstep_total(launch, "divergent"));
}

int main() {
  const unsigned count = 1000;
  const bool has_probe = superstep_has_probe && superstep_has_probe();
  FILE *file = has_probe ? std::fopen("probed.txt", "w") : nullptr;
  if (file) superstep_observe(nullptr, print_launch, file);
  unsigned *steps;
  if (cudaMallocManaged(&steps, count * sizeof *steps) != cudaSuccess) return 2;
  unsigned longest = 0;
  for (unsigned launch = 0; launch < 30; ++launch) {
    if (has_probe) superstep_switch(launch % 10 == 0);
    collatz<<<(count + 127) / 128, 128>>>(steps, 1 + launch * count, count);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    for (unsigned i = 0; i < count; ++i)
      if (steps[i] > longest) longest = steps[i];
  }
  if (file) std::fclose(file);
  std::printf("longest chain below 30001: %u steps\n", longest);
}
