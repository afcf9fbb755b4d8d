//! Runs of the program without an error: how it comes out, and what its threads execute.

use std::fs;
use std::path::Path;

use superstep_trace::ProbeResults;

use super::campaign::{Campaign, Setting, remove};
use super::{Choice, Injection, Space};
use crate::capture;
use crate::suite::Run;
use crate::verify::outputs_equal;
use superstep_build::failure::{Failure, FailureKind};

/// Parameters of a run without an error: there is no such launch.
const NO_ERROR: [u64; 5] = [u64::MAX, 0, 0, 0, 0];

/// The program without an error.
pub(super) struct Profile<'a, 'b> {
    campaign: &'a Campaign<'b>,
    /// The run that others are compared with.
    pub reference: Run,
    pub space: Space,
}

impl<'a, 'b> Profile<'a, 'b> {
    /// Runs the program without an error, and once more to count what it executes.
    pub fn of(campaign: &'a Campaign<'b>) -> Result<Self, Failure> {
        let place = campaign.folder.join("reference");
        remove(&place);
        let mut setting = Setting::new(&campaign.executables.flip, &place, NO_ERROR);
        setting.results = Some(place.join("results"));
        let reference = campaign.execute(&setting)?;
        if let Some(failure) = reference.failure(&campaign.case) {
            return Err(failure);
        }
        let mut profile = Profile {
            campaign,
            reference,
            space: Space::default(),
        };
        let counts = profile.count("profile", None)?;
        profile.same_places(&place.join("results"), &counts)?;
        profile.space = Space::of(&counts).map_err(capture::failure)?;
        if profile.space.executions() == 0 {
            let message =
                "failed to inject: no kernel of the program executes an instruction with a result";
            return Err(Failure::new(FailureKind::Run, message));
        }
        Ok(profile)
    }

    /// Finds thread and execution of each choice, with one more run. Answers how many places were not executed as often as before, too.
    pub fn locate(&self, choices: &[Choice]) -> Result<(Vec<Injection>, u64), Failure> {
        if choices.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let places = self.campaign.folder.join("places.json");
        let text = serde_json::to_vec(&self.space.places(choices))
            .map_err(|error| Failure::internal("write JSON", error))?;
        fs::write(&places, text).map_err(Failure::io("write", &places))?;
        let counts = self.count("threads", Some(&places))?;
        let found = self
            .space
            .locate(choices, &counts)
            .map_err(capture::failure)?;
        remove(&self.campaign.folder.join("threads"));
        Ok(found)
    }

    /// Runs the counting program; `places` is a file that names whose threads' counts are kept.
    fn count(&self, name: &str, places: Option<&Path>) -> Result<ProbeResults, Failure> {
        let place = self.campaign.folder.join(name);
        remove(&place);
        let mut setting = Setting::new(&self.campaign.executables.profile, &place, NO_ERROR);
        setting.results = Some(place.join("results"));
        setting.places = places.map(Path::to_owned);
        let run = self.campaign.execute(&setting)?;
        let case = &self.campaign.case;
        if let Some(failure) = run.failure(case) {
            return Err(failure);
        }
        let fault = run.summary.as_ref().ok().and_then(|s| s.faults.first());
        if let Some(fault) = fault {
            let message = format!(
                "failed to count what {} executes: {fault}; a smaller --size may help",
                case.benchmark.name
            );
            return Err(Failure::new(FailureKind::Run, message));
        }
        let equal = outputs_equal(&self.reference.files, &run.files, &case.benchmark.checks);
        if !equal.ok {
            let message = format!(
                "failed to inject into {}: the effect of an error could not be told from its own changes from run to run: {}",
                case.benchmark.name, equal.detail
            );
            return Err(Failure::new(FailureKind::Verification, message));
        }
        ProbeResults::open(&place.join("results")).map_err(capture::failure)
    }

    /// Both probes must number the same instructions alike.
    fn same_places(&self, flip: &Path, counts: &ProbeResults) -> Result<(), Failure> {
        let flip = ProbeResults::open(flip).map_err(capture::failure)?;
        let places = |results: &ProbeResults| -> Vec<(u32, Vec<String>)> {
            let modules = results.modules.iter();
            let places = modules.filter_map(|module| {
                let sites = module.defined.as_ref()?.sites.iter();
                let texts = sites.map(|site| {
                    let (line, block) = (site.line, site.block);
                    format!(
                        "{} {line} {block} {} {}",
                        site.function, site.what, site.width
                    )
                });
                Some((module.module, texts.collect()))
            });
            places.collect()
        };
        if places(&flip) == places(counts) {
            return Ok(());
        }
        let message = "the probes `injection` and `injection-profile` do not cover the same instructions; build both from the same sources";
        Err(Failure::new(FailureKind::Internal, message))
    }
}
