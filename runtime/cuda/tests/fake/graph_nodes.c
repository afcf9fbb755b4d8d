/* A "CUDA program" for the stand-ins. It inspects its graphs. */
#include "kernel.h"
#include <stdio.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;
struct kernel_node { void *function; dim3 grid, block; unsigned shared; void **arguments, **extra; };
struct fill_node { void *to; size_t pitch; unsigned value, element; size_t width, height; };
int cudaMalloc(void **, size_t), cudaStreamCreate(void **), cudaMemsetAsync(void *, int, size_t, void *);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *), cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaStreamBeginCapture(void *, int), cudaStreamEndCapture(void *, void **);
int cudaGraphCreate(void **, unsigned), cudaGraphClone(void **, void *);
int cudaGraphAddKernelNode(void **, void *, void **, size_t, const struct kernel_node *);
int cudaGraphAddMemsetNode(void **, void *, void **, size_t, const struct fill_node *);
int cudaGraphAddMemcpyNode1D(void **, void *, void **, size_t, void *, const void *, size_t, int);
int cudaGraphGetNodes(void *, void **, size_t *), cudaGraphGetRootNodes(void *, void **, size_t *);
int cudaGraphGetEdges(void *, void **, void **, size_t *), cudaGraphGetEdges_v2(void *, void **, void **, void *, size_t *);
int cudaGraphNodeGetDependencies(void *, void **, size_t *), cudaGraphNodeGetDependentNodes(void *, void **, size_t *);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);

static int body(const uint64_t *arguments) { return 0; }
static struct fake_kernel known = {"_Z6tracedPfm", 2, body};
__attribute__((constructor)) static void announce(void) {
  static const struct { unsigned magic, version; const char *data; void *unused; } wrapper = {0x466243b1, 1, "superstep-module 0abc\n"};
  if (strcmp(PROBE, "none")) known.arguments += 2;
  __cudaRegisterFunction(__cudaRegisterFatBinary((void *)&wrapper), (const char *)&known, 0, known.name, -1, 0, 0, 0, 0, 0);
}

enum { MAX = 16 };
static void *nodes[MAX], *found_nodes[MAX], *others[MAX];
static size_t count;
static int number(const void *node) {
  for (int i = 0; i < (int)count; ++i)
    if (nodes[i] == node) return i;
  return -1;
}
/* Prints a graph's nodes, roots and edges, then each node's dependencies and dependents. */
static int show(void *graph) {
  size_t all = 0, found = MAX;
  int error = cudaGraphGetNodes(graph, 0, &all);
  count = MAX;
  error |= cudaGraphGetNodes(graph, nodes, &count) | cudaGraphGetRootNodes(graph, found_nodes, &found);
  printf("%d of %d, roots", (int)count, (int)all);
  for (size_t i = 0; i < found; ++i) printf(" %d", number(found_nodes[i]));
  for (int version = 1; version <= 2; ++version) {
    found = MAX;
    error |= version == 1 ? cudaGraphGetEdges(graph, found_nodes, others, &found) : cudaGraphGetEdges_v2(graph, found_nodes, others, 0, &found);
    printf("; edges");
    for (size_t i = 0; i < found; ++i) printf(" %d>%d", number(found_nodes[i]), number(others[i]));
  }
  for (size_t i = 0; i < count; ++i) {
    found = MAX;
    error |= cudaGraphNodeGetDependencies(nodes[i], found_nodes, &found);
    printf("; %d of %d", found ? number(found_nodes[0]) : -1, (int)found);
    found = MAX;
    error |= cudaGraphNodeGetDependentNodes(nodes[i], found_nodes, &found);
    printf(" to %d of %d", found ? number(found_nodes[0]) : -1, (int)found);
  }
  return printf("\n"), error;
}

int main(void) {
  static char *memory, from[64];
  static uint64_t rounds;
  void *arguments[] = {&memory, &rounds}, *stream, *graph, *clone, *node;
  const dim3 one = {1, 1, 1};
  struct kernel_node kernel = {&known, one, one, 0, arguments, 0};
  int error = cudaMalloc((void **)&memory, 256) | cudaStreamCreate(&stream) | cudaGraphCreate(&graph, 0);
  error |= cudaGraphAddMemsetNode(&node, graph, 0, 0, &(struct fill_node){memory, 0, 7, 4, 2, 1});
  error |= cudaGraphAddKernelNode(&node, graph, &node, 1, &kernel) | cudaGraphAddKernelNode(&node, graph, &node, 1, &kernel);
  error |= cudaGraphAddMemcpyNode1D(&node, graph, &node, 1, memory, from, 1, 1);
  error |= show(graph) | cudaGraphClone(&clone, graph) | show(clone);
  error |= cudaStreamBeginCapture(stream, 0) | cudaLaunchKernel(&known, one, one, arguments, 0, stream);
  error |= cudaMemsetAsync(memory, 7, 2, stream) | cudaLaunchKernel(&known, one, one, arguments, 0, stream);
  error |= cudaStreamEndCapture(stream, &graph) | show(graph);
  return error;
}
