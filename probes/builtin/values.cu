// SASSI's case study III. A bit is constant if it is set in all values or in none. A result is scalar if the lanes that
// compute it together always get the same value, that is, if the bits set in any of the values are set in all of them.
// An instruction executes as often as its block.
__device__ void on_block(Fields &fields) { fields.executions += 1; }

__device__ void on_value(Fields &fields, unsigned long long all, unsigned long long any) {
  fields.ones &= all;
  fields.ever_set |= any;
  fields.differing |= all != any;
}
