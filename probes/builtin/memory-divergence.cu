// SASSI's case study II: a matrix of active threads (rows) by unique lines (columns), both from 1 to 32, over all
// accesses.
__device__ void on_access(Fields &fields, unsigned active, unsigned lines, unsigned long long *matrix) {
  const unsigned threads = __popc(active);
  fields.accesses += 1;
  fields.threads += threads;
  fields.lines += lines;
  atomicAdd(&matrix[(threads - 1) * 32 + lines - 1], 1ull);
}
