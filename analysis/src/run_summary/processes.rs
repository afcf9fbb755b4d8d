//! Results of programs of which several processes launched kernels.

use super::{BenchmarkSummary, RunSummary};
use serde::{Deserialize, Serialize};
use superstep_trace::Process;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSummary {
    #[serde(flatten)]
    pub process: Process,
    /// Path of its executable.
    pub program: String,
    /// Its arguments, without the program's own name.
    pub arguments: Vec<String>,
}

impl RunSummary {
    /// The summary with an entry for each process after that of its program.
    #[must_use]
    pub fn by_process(&self) -> Self {
        let with_processes = |benchmark: &BenchmarkSummary| {
            let whole = BenchmarkSummary {
                processes: Vec::new(),
                ..benchmark.clone()
            };
            std::iter::once(whole).chain(benchmark.processes.clone())
        };
        Self {
            benchmarks: self.benchmarks.iter().flat_map(with_processes).collect(),
            ..self.clone()
        }
    }
}
