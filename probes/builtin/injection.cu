// SASSI's case study IV, on the CPU backend: counts the executions of each instruction, and flips one bit of the result of one
// of them. With one worker thread, the executions of a launch come in the same order in each run.
static __device__ unsigned long long seen;

__device__ unsigned long long on_value(Fields &fields, unsigned site, unsigned long long launch, unsigned long long value,
                                       const unsigned long long *wanted) {
  fields.executions += 1;
  if (site == wanted[1] && launch == wanted[0] && seen++ == wanted[2]) return value ^ 1ull << wanted[3];
  return value;
}
