// One counter per basic block and thread. It stays in a register until the thread exits, so no atomic is needed.
__device__ void on_block(Fields &fields) { fields.executions += 1; }
