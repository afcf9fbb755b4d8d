// SASSI's case study IV: flips one bit of the result of one execution of an instruction. Counts only one thread's
// executions, so that the chosen execution does not depend on the order in which either backend runs the threads.
static __device__ unsigned long long executions;

__device__ unsigned long long on_value(unsigned site, unsigned long long launch, unsigned long long value,
                                       const unsigned long long *target, unsigned long long *flips) {
  if (site != target[1] || launch != target[0] || superstep::thread() != target[2]) return value;
  if (executions++ != target[3]) return value;
  atomicAdd(flips, 1ull);
  return value ^ 1ull << target[4];
}
