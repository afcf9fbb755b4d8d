// Each instruction counts its executions; its class stands in the table of places.
__device__ void on_instruction(Fields &fields, unsigned active) {
  fields.warps += 1;
  fields.threads += __popc(active);
}
