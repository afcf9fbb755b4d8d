// SASSI's case study III. A bit is constant when it is set in all values or in none; a result is scalar when the lanes that
// compute it together always get the same value, that is, when the bits set in all values are those set in any. An
// instruction executes as often as its block.
__device__ void on_block(Fields &fields) { fields.executions += 1; }

__device__ void on_value(Fields &fields, unsigned long long all, unsigned long long any) {
  fields.ones &= all;
  fields.ever_set |= any;
  fields.differing |= all != any;
}
