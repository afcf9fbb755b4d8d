// Included before the host code of a probe (docs/probes.md): makes Superstep call `initialise` before each launch and
// `finalise` after it, if the host code defines them.
#ifndef SUPERSTEP_HOOKS_H
#define SUPERSTEP_HOOKS_H

#include <superstep/runtime.h>

extern "C" __attribute__((weak)) int initialise(const superstep_launch *launch, unsigned long long *parameters);
extern "C" __attribute__((weak)) void finalise(const superstep_launch *launch);

static int superstep_before_launch(const superstep_launch *launch, unsigned long long *parameters, void *) {
  return initialise ? initialise(launch, parameters) : 1;
}

static void superstep_after_launch(const superstep_launch *launch, void *) {
  if (finalise) finalise(launch);
}

__attribute__((constructor)) static void superstep_register_hooks() {
  superstep_observe(superstep_before_launch, superstep_after_launch, nullptr);
}

#endif
