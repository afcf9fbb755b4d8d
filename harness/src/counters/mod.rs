//! Compares a capture with hardware counters, which Nsight Compute reads while the same code runs without
//! instrumentation. `docs/counters.md` describes the three numbers that are compared: groups, requests and executed
//! instructions.

mod compare;
mod ncu;

pub use compare::{Comparison, compare};
pub use ncu::read_csv;

/// A class of memory instructions, and the metrics that count them.
struct Class {
    name: &'static str,
    requests: &'static [&'static str],
    /// Metrics whose sum is the number of executions. Generic instructions can also access shared or local memory.
    executed: &'static [&'static str],
}

/// Classes in the order of [`kind_of`](crate::verify::kind_of).
const CLASSES: [Class; 3] = [
    Class {
        name: "loads",
        requests: &[
            "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
            "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
        ],
        executed: &[
            "smsp__inst_executed_op_global_ld.sum",
            "smsp__inst_executed_op_generic_ld.sum",
            "smsp__inst_executed_op_ldgsts.sum",
        ],
    },
    Class {
        name: "stores",
        requests: &["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"],
        executed: &[
            "smsp__inst_executed_op_global_st.sum",
            "smsp__inst_executed_op_generic_st.sum",
        ],
    },
    Class {
        name: "atomics",
        requests: &[
            "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
            "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
        ],
        executed: &[
            "smsp__inst_executed_op_generic_atom_dot_alu.sum",
            "smsp__inst_executed_op_generic_atom_dot_cas.sum",
            "smsp__inst_executed_op_global_red.sum",
        ],
    },
];

/// Returns the options that make Nsight Compute write a CSV file.
pub fn ncu_options() -> String {
    let metrics: Vec<&str> = CLASSES
        .iter()
        .flat_map(|class| [class.requests, class.executed].concat())
        .collect();
    // A script starts the program, so all processes are profiled.
    format!(
        "--csv --print-units base --kernel-name-base mangled --print-kernel-base mangled --clock-control none --cache-control none \
         --target-processes all --force-overwrite --log-file counters.csv --metrics {}",
        metrics.join(",")
    )
}
