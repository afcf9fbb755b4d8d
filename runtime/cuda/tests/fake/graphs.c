/* CUDA graphs for the stand-ins for libcudart and libcuda; both are built with this file. A node has a word for each
 * argument of its kernel. As in CUDA, an instance keeps the nodes that its graph had when it was instantiated. */
#include "kernel.h"
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;
struct kernel_node { void *function; dim3 grid, block; unsigned shared; void **arguments, **extra; };
struct driver_node { struct kernel_node runtime; void *kernel, *context; };
struct fill_node { void *to; size_t pitch; unsigned value, element; size_t width, height; };
struct host_node { void (*function)(void *); void *data; };
struct side { size_t x, y, z, level; unsigned memory; const void *host; char *device; void *array, *reserved; size_t pitch, height; };
struct copy_node { struct side from, to; size_t width, height, depth; };

enum { KERNEL, COPY, FILL, HOST, GRAPH, EMPTY, ALLOCATE = 10 };
struct node {
  int kind, before[4], count;
  struct driver_node kernel;
  uint64_t words[16];
  void *pointers[16];
  struct fill_node fill;
  struct copy_node copy;
  struct host_node host;
  struct graph *child;
};
struct graph { struct node *nodes[32]; int count; const struct graph *from; };

static void *call(const char *name) { return dlsym(dlopen("libcudart.so.12", RTLD_NOW | RTLD_NOLOAD), name); }
static void set(struct node *node, const struct driver_node *given) {
  const struct fake_kernel *kernel = given->runtime.function;
  node->kernel = *given;
  for (int i = 0; i < kernel->arguments; ++i) {
    memcpy(&node->words[i], given->runtime.arguments[i], 8);
    node->pointers[i] = &node->words[i];
  }
  node->kernel.runtime.arguments = node->pointers;
}
static struct node *add(void **handle, struct graph *graph, void **before, size_t count, int kind) {
  struct node *node = calloc(1, sizeof *node);
  node->kind = kind, node->count = (int)count;
  for (size_t i = 0; i < count; ++i)
    for (int j = 0; j < graph->count; ++j)
      if (graph->nodes[j] == before[i]) node->before[i] = j;
  return *handle = graph->nodes[graph->count++] = node;
}
static struct graph *copy_of(const struct graph *graph) {
  struct graph *copy = calloc(1, sizeof *copy);
  *copy = *graph, copy->from = graph;
  for (int i = 0; i < graph->count; ++i) {
    struct node *node = memcpy(copy->nodes[i] = malloc(sizeof *node), graph->nodes[i], sizeof *node);
    if (node->kind == KERNEL) set(node, &graph->nodes[i]->kernel);
    if (node->child) node->child = copy_of(node->child);
  }
  return copy;
}

static struct graph *registered(struct graph *);
int cudaGraphCreate(void **graph, unsigned flags) { return *graph = registered(calloc(1, sizeof(struct graph))), 0; }
int cudaGraphDestroy(void *graph) { return 0; }
int cudaGraphExecDestroy(void *instance) { return 0; }
int cuGraphAddKernelNode_v2(void **node, void *graph, void **before, size_t count, const struct driver_node *given) {
  return set(add(node, graph, before, count, KERNEL), given), 0;
}
int cudaGraphAddKernelNode(void **node, void *graph, void **before, size_t count, const struct kernel_node *given) {
  return cuGraphAddKernelNode_v2(node, graph, before, count, &(struct driver_node){*given, 0, 0});
}
int cudaGraphAddMemsetNode(void **node, void *graph, void **before, size_t count, const struct fill_node *given) {
  return add(node, graph, before, count, FILL)->fill = *given, 0;
}
int cuGraphAddMemcpyNode(void **node, void *graph, void **before, size_t count, const struct copy_node *given, void *context) {
  return add(node, graph, before, count, COPY)->copy = *given, 0;
}
int cudaGraphAddMemcpyNode1D(void **node, void *graph, void **before, size_t count, void *to, const void *from, size_t bytes, int kind) {
  const struct copy_node copy = {{.memory = 1, .host = from}, {.memory = 2, .device = to}, bytes, 1, 1};
  return cuGraphAddMemcpyNode(node, graph, before, count, &copy, 0);
}
int cudaGraphAddMemcpyNodeToSymbol(void **node, void *graph, void **before, size_t count, void *symbol, const void *from, size_t bytes,
                                   size_t offset, int kind) {
  return cudaGraphAddMemcpyNode1D(node, graph, before, count, (char *)symbol + offset, from, bytes, kind);
}
int cudaGraphAddHostNode(void **node, void *graph, void **before, size_t count, const struct host_node *given) {
  return add(node, graph, before, count, HOST)->host = *given, 0;
}
int cudaGraphAddChildGraphNode(void **node, void *graph, void **before, size_t count, void *child) {
  return add(node, graph, before, count, GRAPH)->child = copy_of(child), 0;
}
int cudaGraphAddEmptyNode(void **node, void *graph, void **before, size_t count) { return add(node, graph, before, count, EMPTY), 0; }
int cudaGraphAddMemAllocNode(void **node, void *graph, void **before, size_t count, void *given) {
  return add(node, graph, before, count, ALLOCATE), 0;
}
int cudaGraphAddDependencies(struct graph *graph, struct node **from, struct node **to, size_t count) {
  for (size_t i = 0; i < count; ++i)
    for (int j = 0; j < graph->count; ++j)
      if (graph->nodes[j] == from[i]) to[i]->before[to[i]->count++] = j;
  return 0;
}
int cudaGraphClone(void **clone, void *graph) { return *clone = registered(copy_of(graph)), 0; }
int cudaGraphGetNodes(void *graph, void **nodes, size_t *count) {
  struct graph *g = graph;
  if (nodes) memcpy(nodes, g->nodes, *count * sizeof *nodes);
  return *count = (size_t)g->count, 0;
}
int cudaGraphGetEdges_v2(void *graph, void **from, void **to, void *data, size_t *count) {
  struct graph *g = graph;
  *count = 0;
  for (int i = 0; i < g->count; ++i)
    for (int j = 0; j < g->nodes[i]->count; ++j, ++*count)
      if (from) from[*count] = g->nodes[g->nodes[i]->before[j]], to[*count] = g->nodes[i];
  return 0;
}
int cudaGraphGetEdges(void *graph, void **from, void **to, size_t *count) { return cudaGraphGetEdges_v2(graph, from, to, 0, count); }
int cudaGraphNodeFindInClone(void **found, void *original, struct graph *clone) {
  for (int i = 0; i < clone->count; ++i)
    if (clone->from->nodes[i] == original) return *found = clone->nodes[i], 0;
  return 1;
}
int cudaGraphGetRootNodes(struct graph *graph, void **nodes, size_t *count) {
  *count = 0;
  for (int i = 0; i < graph->count; ++i)
    if (!graph->nodes[i]->count && ++*count && nodes) nodes[*count - 1] = graph->nodes[i];
  return 0;
}
/* All graphs, used to find a node's graph. */
static struct graph *graphs[64];
static int graph_count;
static struct graph *registered(struct graph *graph) { return graphs[graph_count++] = graph; }
static struct graph *graph_of(struct node *node) {
  for (int i = 0; i < graph_count; ++i)
    for (int j = 0; j < graphs[i]->count; ++j)
      if (graphs[i]->nodes[j] == node) return graphs[i];
  return 0;
}
int cudaGraphNodeGetDependencies(struct node *node, void **nodes, size_t *count) {
  for (int i = 0; i < node->count && nodes; ++i) nodes[i] = graph_of(node)->nodes[node->before[i]];
  return *count = (size_t)node->count, 0;
}
int cudaGraphNodeGetDependentNodes(struct node *node, void **nodes, size_t *count) {
  const struct graph *graph = graph_of(node);
  *count = 0;
  for (int i = 0; i < graph->count; ++i)
    for (int j = 0; j < graph->nodes[i]->count; ++j)
      if (graph->nodes[graph->nodes[i]->before[j]] == node && ++*count && nodes) nodes[*count - 1] = graph->nodes[i];
  return 0;
}
int cudaGraphNodeGetType(void *node, int *kind) { return *kind = ((struct node *)node)->kind, 0; }
int cudaGraphChildGraphNodeGetGraph(void *node, void **graph) { return *graph = ((struct node *)node)->child, 0; }
int cuGraphKernelNodeGetParams_v2(void *node, struct driver_node *given) { return *given = ((struct node *)node)->kernel, 0; }
int cudaGraphKernelNodeGetParams(void *node, struct kernel_node *given) { return *given = ((struct node *)node)->kernel.runtime, 0; }
int cudaGraphKernelNodeSetParams(void *node, const struct kernel_node *given) { return set(node, &(struct driver_node){*given, 0, 0}), 0; }
int cuGraphKernelNodeCopyAttributes(void *to, void *from) { return 0; }
int cuGraphMemcpyNodeGetParams(void *node, struct copy_node *given) { return *given = ((struct node *)node)->copy, 0; }
int cudaGraphMemsetNodeGetParams(void *node, struct fill_node *given) { return *given = ((struct node *)node)->fill, 0; }
int cudaGraphMemsetNodeSetParams(struct node *node, const struct fill_node *given) { return node->fill = *given, 0; }
int cudaGraphMemcpyNodeSetParams1D(struct node *node, void *to, const void *from, size_t bytes, int kind) {
  return node->copy = (struct copy_node){{.memory = 1, .host = from}, {.memory = 2, .device = to}, bytes, 1, 1}, 0;
}
int cudaGraphHostNodeGetParams(void *node, struct host_node *given) { return *given = ((struct node *)node)->host, 0; }
int cuCtxGetCurrent(void **context) { return *context = 0, 0; }

/* An instance: the graph and a copy of it. */
struct instance { struct graph *original, *copy; };
static struct node *find(struct graph *original, struct graph *copy, void *node) {
  struct node *found = 0;
  for (int i = 0; i < original->count && !found; ++i)
    if (original->nodes[i] == node) found = copy->nodes[i];
    else if (original->nodes[i]->child) found = find(original->nodes[i]->child, copy->nodes[i]->child, node);
  return found;
}
static struct node *find_in(struct instance *instance, void *node) { return find(instance->original, instance->copy, node); }
int cudaGraphInstantiateWithFlags(void **handle, void *graph, unsigned long long flags) {
  struct instance *instance = *handle = malloc(sizeof *instance);
  return *instance = (struct instance){graph, copy_of(graph)}, 0;
}
int cudaGraphExecUpdate(struct instance *instance, void *graph, int *result) { return instance->copy = copy_of(graph), *result = 0; }
int cuGraphExecKernelNodeSetParams_v2(struct instance *instance, void *node, const struct driver_node *given) {
  struct node *found = find_in(instance, node);
  return found ? set(found, given), 0 : 1;
}
int cudaGraphExecKernelNodeSetParams(struct instance *instance, void *node, const struct kernel_node *given) {
  return cuGraphExecKernelNodeSetParams_v2(instance, node, &(struct driver_node){*given, 0, 0});
}
int cudaGraphExecMemsetNodeSetParams(struct instance *instance, void *node, const struct fill_node *given) {
  return find_in(instance, node) ? cudaGraphMemsetNodeSetParams(find_in(instance, node), given) : 1;
}
int cudaGraphExecMemcpyNodeSetParams1D(struct instance *instance, void *node, void *to, const void *from, size_t bytes, int kind) {
  return find_in(instance, node) ? cudaGraphMemcpyNodeSetParams1D(find_in(instance, node), to, from, bytes, kind) : 1;
}
int cudaGraphExecChildGraphNodeSetParams(struct instance *instance, void *node, void *child) {
  return find_in(instance, node) ? find_in(instance, node)->child = copy_of(child), 0 : 1;
}
int cudaGraphNodeSetEnabled(struct instance *instance, void *node, unsigned enabled) { return find_in(instance, node) ? 0 : 1; }
/* Runs the nodes in the order in which they were added. */
static int run(struct graph *graph, void *stream) {
  int (*launch)(const void *, dim3, dim3, void **, size_t, void *) = call("cudaLaunchKernel");
  int (*fill)(void *, int, size_t, void *) = call("cudaMemsetAsync");
  int (*copy)(void *, const void *, size_t, int, void *) = call("cudaMemcpyAsync");
  int error = 0;
  for (int i = 0; i < graph->count && !error; ++i) {
    struct node *node = graph->nodes[i];
    switch (node->kind) {
    case KERNEL: error = launch(node->kernel.runtime.function, node->kernel.runtime.grid, node->kernel.runtime.block, node->pointers, 0, stream); break;
    case FILL: error = fill(node->fill.to, (int)node->fill.value, node->fill.width * node->fill.element, stream); break;
    case COPY: error = copy(node->copy.to.device, node->copy.from.host, node->copy.width, 1, stream); break;
    case GRAPH: error = run(node->child, stream); break;
    default: error = 999;
    }
  }
  return error;
}
int cudaGraphLaunch(struct instance *instance, void *stream) { return run(instance->copy, stream); }
int cudaPointerGetAttributes(int *attributes, const void *address) { return *attributes = 2, 0; }

/* Driver functions. Every stream that they create is the default stream. */
int cuModuleLoadData(void **module, const void *data) { return 1; }
int cuModuleGetFunction(void **function, void *module, const char *name) { return 1; }
int cuFuncSetAttribute(void *function, int attribute, int value) { return 0; }
int cuFuncGetModule(void **module, void *function) { return 1; }
int cuModuleGetGlobal_v2(void *address, size_t *bytes, void *module, const char *name) { return 1; }
int cuStreamCreate(void **stream, unsigned flags) { return *stream = (void *)2, 0; }
int cuStreamSynchronize(void *stream) { return ((int (*)(void *))call("cudaStreamSynchronize"))(stream); }
int cuStreamDestroy_v2(void *stream) { return 0; }
int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, void *stream) { return cuStreamSynchronize(stream), memcpy(to, from, bytes), 0; }
int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, void *stream) { return cuStreamSynchronize(stream), memcpy(to, from, bytes), 0; }
int cuMemAlloc_v2(void **pointer, size_t bytes) { return ((int (*)(void **, size_t))call("cudaMalloc"))(pointer, bytes); }
int cuMemFree_v2(void *pointer) { return ((int (*)(void *))call("cudaFree"))(pointer); }
