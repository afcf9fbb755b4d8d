/* A driver library for running programs without a GPU driver: functions report their names and terminate the program.
 * Compiled once per driver, with the functions in SUPERSTEP_NAMES; the linked libcudart stub finds the runtime. */

void __superstep_unsupported(const char *function) __attribute__((noreturn));

#define ENTRY(name) void name(void) { __superstep_unsupported(#name); }
#include SUPERSTEP_NAMES
