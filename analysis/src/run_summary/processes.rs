//! Results of programs with multiple processes that launched kernels.

use super::{BenchmarkSummary, RunSummary};
use serde::{Deserialize, Serialize};
use superstep_trace::Process;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSummary {
    #[serde(flatten)]
    pub process: Process,
    /// Path of the executable.
    pub program: String,
    /// Arguments, without the program's name.
    pub arguments: Vec<String>,
}

impl RunSummary {
    /// Returns the summary with an entry for each process after its program's entry.
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
