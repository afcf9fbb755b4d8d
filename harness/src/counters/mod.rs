//! Compares a capture with hardware counters, which Nsight Compute reads while the same code runs without
//! instrumentation. `docs/counters.md` describes the three numbers that are compared: groups, requests and executed
//! instructions.

mod compare;
mod ncu;

pub use compare::{Comparison, compare};
pub use ncu::read_csv;

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    Loads,
    Stores,
    Atomics,
}

pub const CLASSES: [Class; 3] = [Class::Loads, Class::Stores, Class::Atomics];

impl Class {
    pub fn word(self) -> &'static str {
        match self {
            Class::Loads => "loads",
            Class::Stores => "stores",
            Class::Atomics => "atomics",
        }
    }

    fn requests(self) -> &'static [&'static str] {
        match self {
            Class::Loads => &[
                "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
                "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
            ],
            Class::Stores => &["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"],
            Class::Atomics => &[
                "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
                "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
            ],
        }
    }

    /// Returns the metrics whose sum is the number of executions. Generic instructions can also access shared or local
    /// memory.
    fn executed(self) -> &'static [&'static str] {
        match self {
            Class::Loads => &[
                "smsp__inst_executed_op_global_ld.sum",
                "smsp__inst_executed_op_generic_ld.sum",
                "smsp__inst_executed_op_ldgsts.sum",
            ],
            Class::Stores => &[
                "smsp__inst_executed_op_global_st.sum",
                "smsp__inst_executed_op_generic_st.sum",
            ],
            Class::Atomics => &[
                "smsp__inst_executed_op_generic_atom_dot_alu.sum",
                "smsp__inst_executed_op_generic_atom_dot_cas.sum",
                "smsp__inst_executed_op_global_red.sum",
            ],
        }
    }
}

/// Returns the options that make Nsight Compute write a CSV file.
pub fn ncu_options() -> String {
    let metrics =
        (CLASSES.iter()).flat_map(|class| class.requests().iter().chain(class.executed()));
    let metrics: Vec<&str> = metrics.copied().collect();
    // A script starts the program, so all processes are profiled.
    format!(
        "--csv --print-units base --kernel-name-base mangled --print-kernel-base mangled --clock-control none --cache-control none \
         --target-processes all --force-overwrite --log-file counters.csv --metrics {}",
        metrics.join(",")
    )
}
