/* A driver library for programs that run without a GPU driver: each function reports its name and terminates the program. Compiled once per
 * library. SUPERSTEP_NAMES is the file with the list of functions. Linked with the libcudart stub, which finds the runtime. */

void __superstep_unsupported(const char *function) __attribute__((noreturn));

#define ENTRY(name) void name(void) { __superstep_unsupported(#name); }
#include SUPERSTEP_NAMES
