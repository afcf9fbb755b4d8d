// SASSI's case study III. A bit is constant when it is set in all values or in none; a result is scalar when the lanes that
// compute it together always get the same value, which is so when the bits that all have are those that any has. An instruction
// is executed as often as its block.
__device__ void on_block(Fields &fields) { fields.executions += 1; }

__device__ void on_value(Fields &fields, unsigned long long all, unsigned long long any) {
  fields.ones &= all;
  fields.ever_set |= any;
  fields.differing |= all != any;
}
