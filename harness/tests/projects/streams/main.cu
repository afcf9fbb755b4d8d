#include <cstdio>
#include <thread>
#include "kernel.h"
unsigned long long hand(int *), legacy(int *), by_hand(), by_nvcc();

// Prints whether stream 0 of each file is the calling thread's stream or the legacy stream.
static unsigned long long print_streams(int *p) {
  unsigned long long own = 0, shared = 0;
  cudaStreamGetId(cudaStreamPerThread, &own);
  cudaStreamGetId(cudaStreamLegacy, &shared);
  for (auto id : {launch(p), hand(p), legacy(p), by_hand(), by_nvcc()}) std::printf("%s ", id == own ? "own" : id == shared ? "legacy" : "?");
  return own;
}

int main() {
  int *p, found[32];
  unsigned long long ids[2];
  cudaMalloc(&p, sizeof found);
  cudaMemset(p, 0, sizeof found);
  for (auto &id : ids) std::thread([&] { id = print_streams(p); }).join();
  cudaMemcpy(found, p, sizeof found, cudaMemcpyDeviceToHost);
  std::printf("%s %d\n", ids[0] == ids[1] ? "same" : "different", found[31]);
  return cudaDeviceSynchronize();
}
