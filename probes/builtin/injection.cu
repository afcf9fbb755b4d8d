// SASSI's case study IV: flips one bit of the result of one execution of an instruction. Counts the executions of one thread
// only, so that the choice does not depend on the order in which threads run on either backend.
static __device__ unsigned long long seen;

__device__ unsigned long long on_value(unsigned site, unsigned long long launch, unsigned long long value,
                                       const unsigned long long *wanted, unsigned long long *flips) {
  if (site != wanted[1] || launch != wanted[0] || superstep::thread() != wanted[2]) return value;
  if (seen++ != wanted[3]) return value;
  atomicAdd(flips, 1ull);
  return value ^ 1ull << wanted[4];
}
