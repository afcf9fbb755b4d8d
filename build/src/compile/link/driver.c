/* The library of a GPU's driver for programs that run without one: each of its functions ends the program and names itself. Compiled once
 * for each library, with SUPERSTEP_NAMES naming the list of functions; linked with the stub of libcudart, which finds the runtime. */

void __superstep_unsupported(const char *function) __attribute__((noreturn));

#define ENTRY(name) void name(void) { __superstep_unsupported(#name); }
#include SUPERSTEP_NAMES
