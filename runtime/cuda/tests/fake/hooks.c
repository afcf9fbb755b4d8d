/* A probe's host code. It is part of a module and must find the runtime that loads the module. */
#include <stdio.h>
__attribute__((weak)) void superstep_observe(void *before, void *after, void *user);
__attribute__((constructor)) static void hook(void) {
  puts(superstep_observe ? "hooked" : "alone");
  fflush(stdout);
}
