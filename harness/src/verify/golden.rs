//! Comparison with known results: counts that a manifest expects, and golden results. The latter are accepted results
//! in `golden/<suite>/<benchmark>.<size>.json`; `--bless` replaces them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep_analysis::run_summary::{
    ByteCounts, Check, InputRecord, KernelSummary, NotCompared, Reproducibility,
};
use superstep_trace::LaunchDigest;

use super::totals::{Totals, same_each_launch};
use super::{failed, not_compared, passed};
use crate::results::{read_json, write_json};
use superstep_analysis::scan::{CaptureScan, launch_name};
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::manifest::Expected;

const NAME: &str = "golden";
const REQUIRED: &str = "golden-required";
const EXPECTED: &str = "expected-counts";
const SCHEMA_VERSION: u32 = 2;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Golden {
    pub schema_version: u32,
    /// LLVM version of the build; another version can emit different instructions.
    pub llvm: String,
    /// GPU architecture, such as 90 for sm_90.
    pub gpu_arch: u32,
    /// Names and hashes of the inputs. Digests are compared only for equal inputs.
    pub inputs: Vec<(String, String)>,
    /// Reproducible part of the result. Digests are compared only if all accesses are reproducible.
    pub same: Reproducibility,
    /// Digest over all launches; `None` if accesses vary.
    pub digest: Option<String>,
    pub launches: u64,
    pub ctas: u64,
    /// Counts of each kernel; access counts are 0 if they vary.
    pub kernels: Vec<KernelSummary>,
    /// Digest over the first N launches, by N, to find the first launch that differs.
    pub running_digests: BTreeMap<u64, String>,
}

/// Returns whether the digest over the first `launches` launches is recorded: each up to 32, then 16 per doubling.
fn is_recorded(launches: u64) -> bool {
    launches.is_multiple_of((launches.next_power_of_two() / 32).max(1))
}

impl Golden {
    pub fn new(
        scan: &CaptureScan,
        totals: &Totals,
        build: (&str, u32),
        inputs: &[InputRecord],
        same: Reproducibility,
    ) -> Self {
        let deterministic = same == Reproducibility::Digests;
        let mut kernels = totals.kernels.clone();
        if same == Reproducibility::Launches {
            for kernel in &mut kernels {
                (kernel.loads, kernel.stores, kernel.atomics) = (0, 0, 0);
                kernel.bytes = ByteCounts::default();
            }
        }
        let mut running_digests = BTreeMap::new();
        let mut digest = LaunchDigest::default();
        for (launch, launches) in scan.launches.iter().zip(1..) {
            digest += launch.digest;
            if deterministic && is_recorded(launches) {
                running_digests.insert(launches, digest.to_string());
            }
        }
        let inputs = inputs.iter();
        let inputs = inputs.map(|input| (input.name.clone(), input.sha256.clone()));
        Self {
            schema_version: SCHEMA_VERSION,
            llvm: build.0.to_owned(),
            gpu_arch: build.1,
            inputs: inputs.collect(),
            same,
            digest: deterministic.then(|| scan.digest.to_string()),
            launches: totals.launches,
            ctas: totals.ctas,
            kernels,
            running_digests,
        }
    }

    pub fn read(path: &Path) -> Result<Option<Self>, Failure> {
        if let Ok(false) = path.try_exists() {
            return Ok(None);
        }
        let hint = "accept the current result with --bless";
        read_json(path, SCHEMA_VERSION, FailureKind::Verification, hint).map(Some)
    }

    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let folder = path.parent().unwrap_or(path);
        std::fs::create_dir_all(folder).map_err(Failure::io("create", &folder))?;
        write_json(path, self)
    }

    fn other_input(&self, current: &Golden) -> Option<String> {
        if self.inputs == current.inputs {
            return None;
        }
        let mut inputs = current.inputs.iter();
        let other = inputs.find(|input| !self.inputs.contains(input));
        let Some((name, found)) = other else {
            return Some("it has more inputs".to_owned());
        };
        let mut golden = self.inputs.iter();
        let hash = golden.find(|(golden, _)| golden == name);
        let expected = hash.map_or("none", |(_, hash)| hash);
        Some(format!("{name} with SHA-256 {expected}, but {found} here"))
    }

    /// Describes differences in the properties that both results have. `scan` is the source of `current`.
    pub fn difference(&self, current: &Golden, scan: &CaptureScan) -> Option<String> {
        let same = self.same.min(current.same);
        if same >= Reproducibility::Launches
            && (self.launches, self.ctas) != (current.launches, current.ctas)
        {
            return Some(format!(
                "{} launches with {} CTAs expected, {} with {} found",
                self.launches, self.ctas, current.launches, current.ctas
            ));
        }
        let mut differences = Vec::new();
        if same == Reproducibility::Digests && self.digest != current.digest {
            let location = location_of(self.first_difference(current), scan);
            let expected = self.digest.as_deref().unwrap_or("none");
            let found = current.digest.as_deref().unwrap_or("none");
            differences.push(format!(
                "{location}; digest {expected} expected over all launches, {found} found"
            ));
        }
        let mut kernels = self.kernels.iter().zip(&current.kernels);
        if let Some((old, new)) = kernels.find(|(old, new)| !kernels_agree(same, old, new)) {
            let (name, before, after) = (&old.name, in_short(old), in_short(new));
            differences.push(format!(
                "the counts of kernel {name} differ: {before} expected, {after} found"
            ));
        }
        let (expected, found) = (self.kernels.len(), current.kernels.len());
        if expected != found {
            differences.push(format!("{expected} kernels expected, {found} found"));
        }
        (!differences.is_empty()).then(|| differences.join("; "))
    }

    /// Returns a range of launches that contains the first difference, in the order of the host's calls.
    fn first_difference(&self, current: &Golden) -> Range<u64> {
        let mut equal = 0;
        for (&launches, digest) in &self.running_digests {
            match current.running_digests.get(&launches) {
                Some(found) if found == digest => equal = launches,
                Some(_) => return equal..launches,
                None => {}
            }
        }
        equal..current.launches
    }
}

fn location_of(range: Range<u64>, scan: &CaptureScan) -> String {
    let launches = scan.launches.iter().take(range.end as usize);
    let launches = launches.skip(range.start as usize);
    let launches: Vec<_> = launches.map(|scanned| scanned.launch).collect();
    if let [launch] = launches[..] {
        let name = launch_name(scan.sites, launch);
        return format!("{name} is the first that differs");
    }
    let kernels = launches.iter().map(|launch| &launch.kernel);
    let kernels: BTreeSet<_> = kernels.map(|name| scan.sites.display_name(name)).collect();
    format!(
        "the first launch that differs is one of launches {} to {} in the order of the host's calls ({})",
        range.start,
        range.end.saturating_sub(1),
        kernels.into_iter().collect::<Vec<_>>().join(", ")
    )
}

/// Compares a result with the golden result. The check does not pass if there is no golden result, or if its inputs or
/// LLVM version differ. With a different architecture, it passes if the two agree, since digests do not depend on it.
pub fn compare_with_golden(golden: Option<&Golden>, current: &Golden, scan: &CaptureScan) -> Check {
    let Some(golden) = golden else {
        let detail = "there is no golden result; accept this one with --bless";
        return not_compared(NAME, NotCompared::NoGoldenResult, detail);
    };
    if let Some(other) = golden.other_input(current) {
        let detail = format!(
            "the golden result is for different inputs: {other}; accept this one with --bless"
        );
        return not_compared(NAME, NotCompared::OtherInputs, detail);
    }
    let difference = golden.difference(current, scan);
    let other_build = |difference: &str| {
        format!(
            "the golden result is from a build with LLVM {} for sm_{}, this one from a build with LLVM {} for sm_{}: \
             {difference}; accept this one with --bless",
            golden.llvm, golden.gpu_arch, current.llvm, current.gpu_arch
        )
    };
    if golden.llvm != current.llvm {
        let detail = other_build(difference.as_deref().unwrap_or("the two agree"));
        return not_compared(NAME, NotCompared::OtherLlvm, detail);
    }
    let Some(difference) = difference else {
        let what = match golden.same.min(current.same) {
            Reproducibility::Digests => "digests and counts agree",
            Reproducibility::Counts if scan.is_in_situ() => {
                "counts agree (an in-situ run has no digests)"
            }
            Reproducibility::Counts => "counts agree (addresses differ from run to run)",
            Reproducibility::Launches => {
                "launches and CTAs agree (accesses differ from run to run)"
            }
            Reproducibility::CountsEachLaunch => {
                "counts of each kernel by launch agree (the number of launches differs from run to run)"
            }
        };
        return passed(NAME, what);
    };
    if golden.gpu_arch != current.gpu_arch {
        let detail = other_build(&difference);
        return not_compared(NAME, NotCompared::OtherArchitecture, detail);
    }
    let detail = format!("{difference}; if the new result is correct, accept it with --bless");
    failed(NAME, detail)
}

pub fn golden_of_partial() -> Check {
    let detail = "golden results exist only for complete captures";
    not_compared(NAME, NotCompared::PartialCapture, detail)
}

/// With `--require-golden`, fails unless `checks` include a comparison with a golden result.
pub fn require_golden(checks: &[Check]) -> Option<Check> {
    let no_manifest = "a program without a manifest has none";
    let (why, detail) = match checks.iter().find(|check| check.check == NAME) {
        None => (NotCompared::NoGoldenResult, no_manifest),
        Some(check) => (check.not_compared?, check.detail.as_str()),
    };
    Some(failed(REQUIRED, format!("not compared: {why}: {detail}")))
}

fn kernels_agree(same: Reproducibility, old: &KernelSummary, new: &KernelSummary) -> bool {
    let launches = |kernel: &KernelSummary| (kernel.name.clone(), kernel.launches, kernel.ctas);
    match same {
        Reproducibility::Digests | Reproducibility::Counts => old == new,
        Reproducibility::Launches => launches(old) == launches(new),
        Reproducibility::CountsEachLaunch => same_each_launch(old, new),
    }
}

/// Compares a run's totals with the manifest; returns `None` if the manifest expects nothing for this size.
pub fn expected_counts(expected: &Expected, totals: &Totals, scan: &CaptureScan) -> Option<Check> {
    let threads = &totals.threads;
    // Sums of an in-situ run include waits, and the number of waits varies.
    let includes_waits = scan.is_in_situ() && scan.has_waits();
    let counts = [
        ("launches", expected.launches, totals.launches),
        ("CTAs", expected.ctas, totals.ctas),
        ("thread loads", expected.thread_loads, threads.loads),
        ("thread stores", expected.thread_stores, threads.stores),
        ("thread atomics", expected.thread_atomics, threads.atomics),
    ];
    let known = if includes_waits { 2 } else { counts.len() };
    let mut matching = Vec::new();
    for (what, expected, found) in counts.into_iter().take(known) {
        match expected {
            Some(number) if number != found => {
                let text = format!("{number} {what} expected, {found} found");
                return Some(failed(EXPECTED, text));
            }
            Some(number) => matching.push(format!("{number} {what}")),
            None => {}
        }
    }
    if let Some(ctas) = expected.ctas_each_launch {
        let mut launches = scan.launches.iter().map(|scan| scan.launch);
        if let Some(other) = launches.find(|launch| launch.ctas() != ctas) {
            let (name, found) = (launch_name(scan.sites, other), other.ctas());
            let text = format!("{name}: {ctas} CTAs expected, {found} found");
            return Some(failed(EXPECTED, text));
        }
        matching.push(format!("{ctas} CTAs in each launch"));
    }
    (!matching.is_empty()).then(|| passed(EXPECTED, matching.join(", ")))
}

pub fn in_short(kernel: &KernelSummary) -> String {
    format!(
        "{} launches, {} CTAs, {} loads, {} stores, {} atomics",
        kernel.launches, kernel.ctas, kernel.loads, kernel.stores, kernel.atomics
    )
}

#[cfg(test)]
mod tests;
