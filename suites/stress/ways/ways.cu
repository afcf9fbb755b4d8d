// Ways to launch kernels. Each run uses one of them, checks its results, and prints the number of global accesses that
// its kernels must have performed: `expected-accesses: N`. Other figures are printed as JSON lines.
//
//   ways WAY
//
// plain      the default and a blocking stream            streams      legacy, per-thread, blocking and non-blocking
// overlap    two concurrent kernels, timed with events    threads      launches from four host threads
// launches   70,000 launches (or N: launches N)           graph        a fork and a join, captured, launched 200 times
// nodes      a graph of explicit nodes, changed, cloned   cooperative  all CTAs resident, with a grid-wide barrier
// too-large  a cooperative launch that cannot fit         clusters     cudaLaunchKernelExC with clusters
// shared     the maximum dynamic shared memory            handles      kernel handles, and cuLaunchKernel
// module     a module that the program loads itself       devices      all devices of the machine, concurrently
// driver-memory  memory from the driver API

#include "launches.cuh"

#include "graphs.cuh"

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "plain";
  auto is = [&](const char *name) { return !strcmp(way, name); };
  setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  if (is("plain")) plain();
  else if (is("streams")) streams();
  else if (is("overlap")) overlap();
  else if (is("threads")) threads_of_the_host();
  else if (is("launches")) launches(argc > 2 ? atoi(argv[2]) : 70000);
  else if (is("graph")) graph();
  else if (is("nodes")) nodes();
  else if (is("cooperative")) cooperative();
  else if (is("too-large")) too_large();
  else if (is("clusters")) clusters();
  else if (is("shared")) shared();
  else if (is("handles")) handles();
  else if (is("driver-memory")) driver_memory();
  else if (is("module")) module();
  else if (is("devices")) devices();
  else return fprintf(stderr, "unknown way %s\n", way), 2;
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  printf("expected-accesses: %llu\n%s\n", expected.load(), failed ? "FAILED" : "PASSED");
  return failed;
}
