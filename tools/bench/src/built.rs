//! A program of a suite at one size, built and ready to run.

use std::collections::BTreeMap;
use std::path::Path;

use superstep_build::bail;
use superstep_build::compile::Executables;
use superstep_build::failure::Failure;
use superstep_build::manifest::{Benchmark, Size, Suite};
use superstep_harness::{Case, Execution, Kind, Prepared, Run};

pub struct Built<'a> {
    pub suite: &'a Suite,
    pub benchmark: &'a Benchmark,
    size: &'a Size,
    executables: Executables,
    sources: BTreeMap<String, String>,
}

impl<'a> Built<'a> {
    pub fn new(suite: &'a Suite, item: &Prepared<'a>, size: &str) -> Result<Self, Failure> {
        let benchmark = item.benchmark;
        let Some(settings) = benchmark.sizes.get(size) else {
            let name = &benchmark.name;
            bail!(
                Usage,
                "failed to find the size `{size}` in the manifest of {name}"
            );
        };
        Ok(Self {
            suite,
            benchmark,
            size: settings,
            executables: item.executables.clone()?,
            sources: item.sources.clone(),
        })
    }

    /// Runs the program natively or traced, in `folder`. Also returns a failure if the run did not end as the
    /// manifest expects.
    pub fn run(
        &self,
        kind: Kind,
        execution: &Execution,
        folder: &Path,
        capture: Option<&Path>,
    ) -> Result<(Run, Option<Failure>), Failure> {
        let case = Case {
            suite: self.suite,
            benchmark: self.benchmark,
            size: self.size,
            execution,
            sources: &self.sources,
        };
        let program = match kind {
            Kind::Traced => &self.executables.traced,
            _ => &self.executables.native,
        };
        let run = case.execute(kind, program, folder, capture)?;
        let failure = run.check_end(&case).err();
        Ok((run, failure))
    }
}
