// API for programs that control their probe at run time, and for the host code of probes (docs/probes.md).
//
// All functions are weak: without Superstep, a program that uses them compiles, links and runs, and the functions are
// null. Check `superstep_has_probe && superstep_has_probe()` first.
#ifndef SUPERSTEP_RUNTIME_H
#define SUPERSTEP_RUNTIME_H

#ifdef __cplusplus
extern "C" {
#endif

// A launch and the probe's results for it. All pointers are valid only during the call that receives them. Mirrored by
// runtime/core/src/probe/api.rs.
typedef struct superstep_launch {
  unsigned stream, launch;             // stream number, and index of the launch in that stream
  const char *kernel;                  // mangled name
  unsigned grid[3], block[3];          // CTAs, and threads per CTA
  unsigned long long elapsed_ns;       // kernel time, with the probe
  unsigned sites, fields;              // places that the kernel can reach, and fields per place
  unsigned long long rows;             // CTAs if the probe is `per: cta`, else 1
  const unsigned long long *values;    // values[(row * sites + site) * fields + field]; null before the launch
  const char *const *field_names;
  const unsigned *site_lines;          // source lines of the places; 0 if unknown
  unsigned long long table_words;
  const unsigned long long *tables;    // all tables, concatenated; null before the launch
} superstep_launch;

// Called by the launching thread before the launch; may change the probe's parameters. Returns 0 to launch without the
// probe.
typedef int (*superstep_before)(const superstep_launch *launch, unsigned long long *parameters, void *user);
// Called by the launching thread when a launch with the probe has completed; may launch kernels and call CUDA.
typedef void (*superstep_after)(const superstep_launch *launch, void *user);

// Returns 1 in a program that was built with a probe, else 0.
__attribute__((weak)) int superstep_has_probe(void);
// Turns the probe on or off for later launches. Launches without the probe run the unmodified kernel at native speed.
__attribute__((weak)) void superstep_switch(int on);
// Calls these functions around each later launch; either may be null.
__attribute__((weak)) void superstep_observe(superstep_before before, superstep_after after, void *user);
// Returns the sum of a field over all rows and places of a launch, or 0 if no field has that name.
__attribute__((weak)) unsigned long long superstep_total(const superstep_launch *launch, const char *field);

#ifdef __cplusplus
}
#endif

#endif
