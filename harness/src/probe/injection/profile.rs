//! Runs the program without an injected error to get its output and execution counts.

use std::path::Path;

use superstep_trace::{PointSite, ProbeResults};

use super::campaign::{Campaign, remove};
use super::{Choice, Injection, Space};
use crate::capture;
use crate::results::write_json;
use crate::suite::Run;
use crate::verify::outputs_equal;
use superstep_build::bail;
use superstep_build::failure::Failure;

/// Parameters that match no launch.
const NO_ERROR: [u64; 5] = [u64::MAX, 0, 0, 0, 0];

pub(super) struct Profile<'a, 'b> {
    campaign: &'a Campaign<'b>,
    pub reference: Run,
    pub space: Space,
}

impl<'a, 'b> Profile<'a, 'b> {
    /// Runs the program without an injected error, and then again to count executions.
    pub fn of(campaign: &'a Campaign<'b>) -> Result<Self, Failure> {
        let folder = campaign.folder.join("reference");
        remove(&folder);
        let reference = campaign.execute(campaign.flip, &folder, NO_ERROR, None, None)?;
        reference.check_end(&campaign.case)?;
        if reference.summary.as_ref().is_ok_and(|s| s.launches == 0) {
            bail!(
                Run,
                "failed to inject into {}: the program launched no kernel; give it arguments and inputs that make it launch one",
                campaign.case.benchmark.name
            );
        }
        let mut profile = Profile {
            campaign,
            reference,
            space: Space::default(),
        };
        let counts = profile.count("profile", None)?;
        profile.require_same_places(&folder.join("results"), &counts)?;
        profile.space = Space::of(&counts).map_err(capture::failure)?;
        if profile.space.executions() == 0 {
            bail!(
                Run,
                "failed to inject: no kernel in the program executes an instruction with a result"
            );
        }
        Ok(profile)
    }

    /// Finds the thread and execution of each choice in another run. Also returns the number of places whose counts
    /// changed.
    pub fn locate(&self, choices: &[Choice]) -> Result<(Vec<Injection>, u64), Failure> {
        if choices.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let places = self.campaign.folder.join("places.json");
        write_json(&places, &self.space.places(choices))?;
        let counts = self.count("threads", Some(&places))?;
        let found = self.space.locate(choices, &counts);
        remove(&self.campaign.folder.join("threads"));
        found.map_err(capture::failure)
    }

    /// Runs the counting program; `places` is a file with the places whose per-thread counts are kept.
    fn count(&self, name: &str, places: Option<&Path>) -> Result<ProbeResults, Failure> {
        let folder = self.campaign.folder.join(name);
        remove(&folder);
        let Campaign { case, profile, .. } = self.campaign;
        let run = (self.campaign).execute(profile, &folder, NO_ERROR, places, None)?;
        run.check_end(case)?;
        let name = &case.benchmark.name;
        let fault = run.summary.as_ref().ok().and_then(|s| s.faults.first());
        if let Some(fault) = fault {
            bail!(
                Run,
                "failed to count the instructions of {name}: {fault}; a smaller --size may help"
            );
        }
        let equal = outputs_equal(&self.reference.files, &run.files, &case.benchmark.checks);
        if !equal.ok {
            bail!(
                Verification,
                "failed to inject into {name}: the effect of an error cannot be distinguished from variation between runs: {}",
                equal.detail
            );
        }
        ProbeResults::open(&folder.join("results")).map_err(capture::failure)
    }

    /// Fails unless the two probes number the instructions identically.
    fn require_same_places(&self, flip: &Path, counts: &ProbeResults) -> Result<(), Failure> {
        let flip = ProbeResults::open(flip).map_err(capture::failure)?;
        let places = |results: &ProbeResults| -> Vec<(u32, Vec<String>)> {
            let text = |site: &PointSite| {
                let (function, line, block) = (&site.function, site.line, site.block);
                format!("{function} {line} {block} {} {}", site.what, site.width)
            };
            let places = results.modules.iter().filter_map(|module| {
                let sites = module.defined.as_ref()?.sites.iter();
                Some((module.module, sites.map(text).collect()))
            });
            places.collect()
        };
        if places(&flip) == places(counts) {
            return Ok(());
        }
        bail!(
            Internal,
            "the probes `injection` and `injection-profile` do not cover the same instructions; build both from the same sources"
        )
    }
}
