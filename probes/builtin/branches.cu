// SASSI's case study I: counts the threads of a warp that reach a branch together, and how many of them take it.
__device__ void on_branch(Fields &fields, unsigned active, unsigned taken) {
  fields.executions += 1;
  fields.active_threads += __popc(active);
  fields.taken_threads += __popc(taken);
  fields.divergent += taken != 0 && taken != active;
}
