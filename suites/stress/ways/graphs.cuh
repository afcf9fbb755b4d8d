// CUDA graphs: see ways.cu.
#pragma once

#include "launches.cuh"

// Two concurrent chains between a common start and end; the data of each chain shows the order of its steps.
static void graph() {
  Data left, right;
  cudaStream_t stream, side;
  cudaEvent_t fork, join;
  cudaGraph_t captured;
  cudaGraphExec_t instance, other;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check(cudaEventCreate(&fork), "cudaEventCreate");
  check(cudaEventCreate(&join), "cudaEventCreate");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  auto launch = [](Data &data, unsigned add, cudaStream_t where) {
    step<<<ctas, threads, 0, where>>>(data.device_in, data.data, add);
    check(cudaGetLastError(), "launch of step");
  };
  launch(left, 1, stream);
  check(cudaEventRecord(fork, stream), "cudaEventRecord");
  check(cudaStreamWaitEvent(side, fork, 0), "cudaStreamWaitEvent");
  launch(right, 2, side);
  launch(right, 3, side);
  launch(left, 4, stream);
  check(cudaEventRecord(join, side), "cudaEventRecord");
  check(cudaStreamWaitEvent(stream, join, 0), "cudaStreamWaitEvent");
  launch(left, 5, stream);
  check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
  check(cudaGraphInstantiate(&instance, captured, 0), "cudaGraphInstantiate");
  check(cudaGraphInstantiate(&other, captured, 0), "cudaGraphInstantiate");
  auto stepped = [&] {
    left.stepped(1);
    right.stepped(2);
    right.stepped(3);
    left.stepped(4);
    left.stepped(5);
  };
  for (int i = 0; i < 200; ++i) {
    check(cudaGraphLaunch(instance, stream), "cudaGraphLaunch");
    stepped();
    if (i % 10 == 0) {
      // Another instance in another stream, followed by a kernel that is in no graph.
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      check(cudaGraphLaunch(other, side), "cudaGraphLaunch");
      stepped();
      left.launch(6, side);
      check(cudaStreamSynchronize(side), "cudaStreamSynchronize");
    }
  }
  left.compare("graph, left");
  right.compare("graph, right");
  check(cudaGraphExecDestroy(other), "cudaGraphExecDestroy");
  check(cudaGraphExecDestroy(instance), "cudaGraphExecDestroy");
  check(cudaGraphDestroy(captured), "cudaGraphDestroy");
}

// A chain of three explicit nodes and one node concurrent with it.
static void nodes() {
  Data chain, single;
  cudaGraph_t graph, clone;
  cudaGraphExec_t instance, clone_instance;
  cudaGraphNode_t node[4];
  check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  auto parameters = [](void **arguments) {
    cudaKernelNodeParams parameters = {};
    parameters.func = (void *)step;
    parameters.gridDim = ctas;
    parameters.blockDim = threads;
    parameters.kernelParams = arguments;
    return parameters;
  };
  auto add = [&](int index, Data &data, unsigned value, int after) {
    const unsigned *in = data.device_in;
    void *arguments[] = {&in, &data.data, &value};
    const cudaKernelNodeParams p = parameters(arguments);
    check(cudaGraphAddKernelNode(&node[index], graph, after < 0 ? nullptr : &node[after], after >= 0, &p), "cudaGraphAddKernelNode");
  };
  add(0, chain, 1, -1);
  add(1, chain, 2, 0);
  add(2, single, 3, 0);
  add(3, chain, 4, 1);
  size_t count = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  if (count != 4) printf("the graph has %zu nodes instead of 4\n", count), failed = true;
  check(cudaGraphInstantiate(&instance, graph, 0), "cudaGraphInstantiate");
  check(cudaGraphClone(&clone, graph), "cudaGraphClone");
  check(cudaGraphInstantiate(&clone_instance, clone, 0), "cudaGraphInstantiate");
  for (unsigned i = 0; i < 200; ++i) {
    unsigned last = 4;
    if (i >= 100) {
      last = i;
      const unsigned *in = chain.device_in;
      void *arguments[] = {&in, &chain.data, &last};
      const cudaKernelNodeParams p = parameters(arguments);
      check(cudaGraphExecKernelNodeSetParams(instance, node[3], &p), "cudaGraphExecKernelNodeSetParams");
    }
    check(cudaGraphLaunch(i == 50 ? clone_instance : instance, 0), "cudaGraphLaunch");
    chain.stepped(1);
    chain.stepped(2);
    single.stepped(3);
    chain.stepped(last);
  }
  chain.compare("nodes, chain");
  single.compare("nodes, single");
}
