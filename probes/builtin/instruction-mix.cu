// Counts the executions of each instruction; the instruction's class is in the table `probe_sites`.
__device__ void on_instruction(Fields &fields, unsigned active) {
  fields.warps += 1;
  fields.threads += __popc(active);
}
