//! Golden results: what a run is known to do, kept in `golden/<suite>/<benchmark>.<size>.json` and replaced with `--bless`.

use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep_report::run_summary::{Check, InputRecord, KernelSummary, Same};
use superstep_trace::SiteTable;

use super::scan::CaptureScan;
use super::totals::{Totals, same_each_launch};
use super::{failed, passed};
use superstep_build::failure::{Failure, FailureKind};

const NAME: &str = "golden";
const SCHEMA_VERSION: u32 = 1;
/// Launches of which the digest is kept one by one, so that a difference can be located.
const LAUNCHES_KEPT: usize = 1000;

/// An accepted result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Golden {
    /// Version of this file's layout.
    pub schema_version: u32,
    /// Version of LLVM that compiled the program; another one may give other instructions.
    pub llvm: String,
    /// Architecture that the device code was compiled for (90 for sm_90).
    pub gpu_arch: u32,
    /// Hashes of the inputs, by name. Digests are only compared for the same inputs.
    pub inputs: Vec<(String, String)>,
    /// Whether the digest is meant to be the same in every run.
    pub deterministic: bool,
    /// What every run has in common, where `deterministic` does not say it: without it every access, or launches and CTAs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<Same>,
    /// Digest over all launches; `None` for a program whose accesses differ from run to run.
    pub digest: Option<String>,
    /// Kernel launches.
    pub launches: u64,
    /// CTAs of all launches.
    pub ctas: u64,
    /// Counts by kernel; those of accesses are 0 when they differ from run to run.
    pub kernels: Vec<KernelSummary>,
    /// Digest of each of the first 1000 launches.
    pub launch_digests: Vec<GoldenLaunch>,
}

/// Digest of one launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoldenLaunch {
    /// Its stream.
    pub stream: u32,
    /// Its number within the stream.
    pub launch: u32,
    /// Its kernel.
    pub kernel: String,
    /// Thread accesses.
    pub accesses: u64,
    /// Digest of them.
    pub digest: String,
}

impl Golden {
    /// The golden form of a result.
    pub fn new(
        scan: &CaptureScan,
        totals: &Totals,
        sites: &SiteTable,
        build: (&str, u32),
        inputs: &[InputRecord],
        same: Same,
    ) -> Self {
        let deterministic = same == Same::Digests;
        let mut kernels = totals.kernels.clone();
        if same == Same::Launches {
            for kernel in &mut kernels {
                *kernel = KernelSummary {
                    name: kernel.name.clone(),
                    launches: kernel.launches,
                    ctas: kernel.ctas,
                    ..KernelSummary::default()
                };
            }
        }
        let kept = if deterministic { LAUNCHES_KEPT } else { 0 };
        let launch_digests = scan.launches.iter().take(kept).map(|launch| GoldenLaunch {
            stream: launch.launch.stream.0,
            launch: launch.launch.launch.0,
            kernel: sites.display_name(&launch.launch.kernel).to_owned(),
            accesses: launch.digest.thread_accesses,
            digest: launch.digest.to_string(),
        });
        Self {
            schema_version: SCHEMA_VERSION,
            llvm: build.0.to_owned(),
            gpu_arch: build.1,
            inputs: inputs
                .iter()
                .map(|input| (input.name.clone(), input.sha256.clone()))
                .collect(),
            deterministic,
            same: Some(same).filter(|same| !matches!(same, Same::Digests | Same::Launches)),
            digest: deterministic.then(|| scan.digest.to_string()),
            launches: totals.launches,
            ctas: totals.ctas,
            kernels,
            launch_digests: launch_digests.collect(),
        }
    }

    /// Reads a golden file; `None` when there is none.
    ///
    /// # Errors
    /// The file cannot be read or is not a golden file.
    pub fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(Failure::internal(
                    format_args!("read {}", path.display()),
                    error,
                ));
            }
        };
        let invalid = |why: String| {
            let message = format!(
                "failed to read {}: {why}; accept the present result with --bless",
                path.display()
            );
            Failure::new(FailureKind::Verification, message)
        };
        let golden: Self =
            serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        if golden.schema_version != SCHEMA_VERSION {
            return Err(invalid(format!(
                "schema version {} where {SCHEMA_VERSION} was expected",
                golden.schema_version
            )));
        }
        Ok(Some(golden))
    }

    /// Writes the golden file, and its folder if need be.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let write = || -> std::io::Result<()> {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let mut text = serde_json::to_string_pretty(self)?;
            text.push('\n');
            std::fs::write(path, text)
        };
        write().map_err(|error| Failure::internal(format_args!("write {}", path.display()), error))
    }

    /// What every run has in common.
    fn same(&self) -> Same {
        self.same.unwrap_or(if self.deterministic {
            Same::Digests
        } else {
            Same::Launches
        })
    }

    /// The first difference in words; `None` when the two agree in what both have.
    fn difference(&self, now: &Golden) -> Option<String> {
        let same = self.same().min(now.same());
        if same >= Same::Launches && (self.launches, self.ctas) != (now.launches, now.ctas) {
            return Some(format!(
                "{} launches with {} CTAs expected, {} with {} found",
                self.launches, self.ctas, now.launches, now.ctas
            ));
        }
        if let Some((old, new)) = self
            .launch_digests
            .iter()
            .zip(&now.launch_digests)
            .find(|(old, new)| same == Same::Digests && old != new)
        {
            return Some(format!(
                "launch {} of stream {} ({}) is the first that differs: {} accesses with digest {} expected, {} with {} found",
                old.launch,
                old.stream,
                old.kernel,
                old.accesses,
                old.digest,
                new.accesses,
                new.digest
            ));
        }
        if let Some((old, new)) = self
            .kernels
            .iter()
            .zip(&now.kernels)
            .find(|(old, new)| !kernels_agree(same, old, new))
        {
            return Some(format!(
                "the counts of kernel {} differ: {} expected, {} found",
                old.name,
                in_short(old),
                in_short(new)
            ));
        }
        if self.kernels.len() != now.kernels.len() {
            return Some(format!(
                "{} kernels expected, {} found",
                self.kernels.len(),
                now.kernels.len()
            ));
        }
        if same != Same::Digests {
            return None;
        }
        let digests = (
            self.digest.as_deref().unwrap_or("none"),
            now.digest.as_deref().unwrap_or("none"),
        );
        (digests.0 != digests.1)
            .then(|| format!("digest {} expected, {} found", digests.0, digests.1))
    }
}

/// Compares a result with the golden one. What was built by another LLVM, for another architecture or from other inputs may
/// differ; that is a note, not a failure.
pub fn compare_with_golden(golden: Option<&Golden>, now: &Golden) -> Check {
    let Some(golden) = golden else {
        return passed(NAME, "no golden result yet; accept this one with --bless");
    };
    if golden.inputs != now.inputs {
        return passed(NAME, "not compared: the golden result is for other inputs");
    }
    let Some(difference) = golden.difference(now) else {
        let what = match golden.same().min(now.same()) {
            Same::Digests => "digests and counts agree",
            Same::Counts => "counts agree (addresses differ from run to run)",
            Same::Launches => "launches and CTAs agree (accesses differ from run to run)",
            Same::CountsEachLaunch => {
                "counts of each kernel by launch agree (the number of launches differs from run to run)"
            }
        };
        return passed(NAME, what);
    };
    if (golden.llvm.as_str(), golden.gpu_arch) != (now.llvm.as_str(), now.gpu_arch) {
        let detail = format!(
            "differs, but the golden result was built by LLVM {} for sm_{}, this one by {} for sm_{}: {difference}",
            golden.llvm, golden.gpu_arch, now.llvm, now.gpu_arch
        );
        return passed(NAME, detail);
    }
    failed(
        NAME,
        format!("{difference}; accept with --bless if this is right"),
    )
}

/// What stands in place of the comparison when only a part of the program is recorded.
pub fn golden_is_whole() -> Check {
    passed(
        NAME,
        "not compared: golden results are those of whole programs, and this capture is partial",
    )
}

fn kernels_agree(same: Same, old: &KernelSummary, new: &KernelSummary) -> bool {
    let launches = |kernel: &KernelSummary| (kernel.name.clone(), kernel.launches, kernel.ctas);
    match same {
        Same::Digests | Same::Counts => old == new,
        Same::Launches => launches(old) == launches(new),
        Same::CountsEachLaunch => same_each_launch(old, new),
    }
}

fn in_short(kernel: &KernelSummary) -> String {
    format!(
        "{} launches, {} CTAs, {} loads, {} stores, {} atomics",
        kernel.launches, kernel.ctas, kernel.loads, kernel.stores, kernel.atomics
    )
}
