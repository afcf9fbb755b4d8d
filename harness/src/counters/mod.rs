//! Compares a capture with hardware counters, which Nsight Compute reads while the same code runs without
//! instrumentation. `docs/counters.md` describes the three numbers that are compared: groups, requests and executed
//! instructions.

mod compare;
mod ncu;

pub use compare::{Comparison, compare};
pub use ncu::read_csv;

/// A class of memory instructions, and the operations in the names of the metrics that count them.
struct Class {
    name: &'static str,
    requests: &'static [&'static str],
    /// Operations whose sum is the number of executions. Generic instructions can also access shared or local memory.
    executed: &'static [&'static str],
}

/// Classes in the order of [`kind_of`](crate::verify::kind_of).
const CLASSES: [Class; 3] = [
    Class {
        name: "loads",
        requests: &["ld", "ldgsts"],
        executed: &["global_ld", "generic_ld", "ldgsts"],
    },
    Class {
        name: "stores",
        requests: &["st"],
        executed: &["global_st", "generic_st"],
    },
    Class {
        name: "atomics",
        requests: &["atom", "red"],
        executed: &["generic_atom_dot_alu", "generic_atom_dot_cas", "global_red"],
    },
];

impl Class {
    fn request_metrics(&self) -> impl Iterator<Item = String> {
        let metric = |op: &&str| format!("l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum");
        self.requests.iter().map(metric)
    }

    fn executed_metrics(&self) -> impl Iterator<Item = String> {
        let metric = |op: &&str| format!("smsp__inst_executed_op_{op}.sum");
        self.executed.iter().map(metric)
    }
}

/// Returns the options that make Nsight Compute write a CSV file.
pub fn ncu_options() -> String {
    let metrics: Vec<String> = (CLASSES.iter())
        .flat_map(|class| class.request_metrics().chain(class.executed_metrics()))
        .collect();
    // A script starts the program, so all processes are profiled.
    format!(
        "--csv --print-units base --kernel-name-base mangled --print-kernel-base mangled --clock-control none --cache-control none \
         --target-processes all --force-overwrite --log-file counters.csv --metrics {}",
        metrics.join(",")
    )
}
