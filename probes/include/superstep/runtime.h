// What a program can do with its probe while it runs, and what a probe's own code on the host is written with (docs/probes.md).
//
// All functions are weak: a program that uses them compiles, links and runs without Superstep, where they are null. Ask
// `superstep_has_probe && superstep_has_probe()` first.
#ifndef SUPERSTEP_RUNTIME_H
#define SUPERSTEP_RUNTIME_H

#ifdef __cplusplus
extern "C" {
#endif

// A launch and what the probe counted in it. Everything is valid during the call that it is passed to. Mirrored by
// runtime/core/src/probe/api.rs.
typedef struct superstep_launch {
  unsigned stream, launch;             // number of the stream, and of the launch in it
  const char *kernel;                  // mangled name
  unsigned grid[3], block[3];          // CTAs, and threads of a CTA
  unsigned long long elapsed_ns;       // time of the kernel with the probe
  unsigned sites, fields;              // places that the kernel can reach, and fields of each
  unsigned long long rows;             // CTAs if the probe is `per: cta`, else 1
  const unsigned long long *values;    // values[(row * sites + site) * fields + field]; null before the launch
  const char *const *field_names;
  const unsigned *site_lines;          // source lines of the places, 0 when unknown
  unsigned long long table_words;
  const unsigned long long *tables;    // the tables, one behind the other; null before the launch
} superstep_launch;

// Called by the thread that launches, before the launch; may change the probe's parameters. Answers 0 for a launch without the probe.
typedef int (*superstep_before)(const superstep_launch *launch, unsigned long long *parameters, void *user);
// Called by the thread that launched, when a launch with the probe has ended. May launch and call CUDA.
typedef void (*superstep_after)(const superstep_launch *launch, void *user);

// 1 in a program that was built with a probe, else 0.
__attribute__((weak)) int superstep_has_probe(void);
// Whether launches from now on have the probe. Those without it run the kernel as it is, at native speed.
__attribute__((weak)) void superstep_switch(int on);
// Calls these functions around each launch from now on; either may be null.
__attribute__((weak)) void superstep_observe(superstep_before before, superstep_after after, void *user);
// The sum of a field over all rows and places of a launch; 0 when there is none of that name.
__attribute__((weak)) unsigned long long superstep_total(const superstep_launch *launch, const char *field);

#ifdef __cplusplus
}
#endif

#endif
