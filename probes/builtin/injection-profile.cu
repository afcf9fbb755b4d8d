// Counts the executions that `injection` chooses from (SASSI, case study IV).
__device__ void on_value(Fields &fields) { fields.executions += 1; }
