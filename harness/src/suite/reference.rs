//! Compares the untraced program with nvcc's build of the same program.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rayon::prelude::*;
use superstep_analysis::run_summary::Check;
use superstep_build::compile::{Executables, Recipe, Reference, find_nvcc};
use superstep_build::failure::{Failure, FailureKind};
use tempfile::TempDir;

use super::benchmark::MORE_RUNS;
use super::execute::{Case, Kind};
use crate::results::Reporter;
use crate::session::Prepared;
use crate::verify::{self, OutputVariation};

const NO_NVCC: &str =
    "there is no nvcc on this machine; add a CUDA toolkit's nvcc to PATH, or set CUDA_HOME";

/// Executables that nvcc built, by program.
#[derive(Debug, Default)]
pub struct References {
    built: BTreeMap<String, Result<PathBuf, Failure>>,
    #[expect(dead_code, reason = "the folder is removed when this is dropped")]
    folder: Option<TempDir>,
}

impl References {
    /// Builds all programs that have a recipe, in parallel; a failure does not stop the other builds.
    pub fn build(prepared: &[Prepared<'_>], reporter: &Reporter) -> Result<Self, Failure> {
        let recipes: Vec<_> = (prepared.iter())
            .filter_map(|item| match item.executables.as_ref().ok()?.reference {
                Reference::Recipe { ref recipe, .. } => Some((&item.benchmark.name, recipe)),
                Reference::NotBuilt | Reference::Refused(_) => None,
            })
            .collect();
        if recipes.is_empty() {
            return Ok(Self::default());
        }
        let nvcc = find_nvcc().ok_or_else(|| Failure::new(FailureKind::Tool, NO_NVCC));
        let _step = reporter.step("building with nvcc", None);
        let folder = TempDir::new().map_err(|error| Failure::internal("create a folder", error))?;
        let built = recipes.into_par_iter().map(|(name, recipe)| {
            let built = nvcc.as_ref().map_err(Clone::clone).and_then(|nvcc| {
                Recipe::build(recipe, nvcc, &folder.path().join(name))
                    .map_err(|error| Failure::new(FailureKind::Build, error.to_string()))
            });
            (name.clone(), built)
        });
        Ok(Self {
            built: built.collect(),
            folder: Some(folder),
        })
    }

    /// Compares a program with nvcc's build. If they differ, both are run again to find outputs that vary.
    pub fn compare(
        &self,
        case: &Case<'_>,
        executables: &Executables,
        folder: &std::path::Path,
    ) -> Result<Option<Check>, Failure> {
        let native = match &executables.reference {
            Reference::NotBuilt => return Ok(None),
            Reference::Refused(why) => return Ok(Some(verify::no_reference(why))),
            Reference::Recipe { native, .. } => native,
        };
        let nvcc = match self.built.get(&case.benchmark.name) {
            Some(Ok(program)) => program,
            Some(Err(failure)) => return Ok(Some(verify::no_reference(&failure.message))),
            None => return Ok(None),
        };
        let checks = case.output_checks();
        let mut varying = OutputVariation::default();
        let run = |kind, program, number: u32| {
            let folder = match number {
                0 => folder.to_owned(),
                number => folder.join(format!("again-{number}")),
            };
            case.execute(kind, program, &folder, None)
        };
        let first = (run(Kind::Nvcc, nvcc, 0)?, run(Kind::Unfused, native, 0)?);
        let mut number = 0;
        loop {
            let check = varying.reference_equal(&first.0.files, &first.1.files, &checks);
            number += 1;
            if check.ok || number > MORE_RUNS {
                return Ok(Some(check));
            }
            let again = run(Kind::Nvcc, nvcc, number)?;
            varying.add(&first.0.files, &again.files, &checks);
            let again = run(Kind::Unfused, native, number)?;
            varying.add(&first.1.files, &again.files, &checks);
        }
    }
}
