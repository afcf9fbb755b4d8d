//! Options that limit what is recorded.

use superstep_build::bail;
use superstep_build::failure::{Failure, FailureKind};
use superstep_trace::{CtaRange, Pattern, Sample, SampleUnit, Selection, SelectionError};

/// Launches and CTAs to record; by default all.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Recording part of the program")]
pub struct RecordArgs {
    /// Record only kernels whose names match this glob or `regex:EXPR`.
    #[arg(long, value_name = "PATTERN")]
    kernel: Option<Pattern>,
    /// Skip the first N launches of these kernels, counted over the whole program.
    #[arg(long, value_name = "N")]
    launch_skip: Option<u64>,
    /// Record only the next N launches.
    #[arg(long, value_name = "N")]
    launch_count: Option<u64>,
    /// Record only these CTAs of each launch, by linear index, for example 0-15,40.
    #[arg(long, value_name = "RANGES")]
    ctas: Option<String>,
    /// Record this share of the launches, chosen at random, and estimate the totals.
    #[arg(long, value_name = "SHARE", conflicts_with = "sample_ctas")]
    sample_launches: Option<String>,
    /// Record this share of the CTAs, chosen at random, and estimate the totals.
    #[arg(long, value_name = "SHARE")]
    sample_ctas: Option<String>,
    /// Seed for the sample [default: 1].
    #[arg(long, value_name = "N")]
    sample_seed: Option<u64>,
}

impl RecordArgs {
    /// Fails if the selection splits launches, since a probe applies to all CTAs of a launch or to none.
    pub fn whole_launches(&self) -> Result<(), Failure> {
        if self.ctas.is_none() && self.sample_ctas.is_none() {
            return Ok(());
        }
        bail!(
            Usage,
            "failed to probe some CTAs of a launch: a launch is probed as a whole or not at all; choose launches with --kernel, \
             --launch-skip, --launch-count or --sample-launches"
        )
    }

    pub fn selection(&self) -> Result<Selection, Failure> {
        let seed = self.sample_seed.unwrap_or(1);
        let sample = |unit, rate: &Option<String>| {
            let sample = rate.as_ref().map(|rate| Sample::parse(unit, rate, seed));
            sample.transpose()
        };
        let usage = |option: &'static str| {
            move |error: SelectionError| {
                Failure::new(FailureKind::Usage, format!("--{option}: {error}"))
            }
        };
        let launches = sample(SampleUnit::Launches, &self.sample_launches);
        let launches = launches.map_err(usage("sample-launches"))?;
        let ctas = sample(SampleUnit::Ctas, &self.sample_ctas).map_err(usage("sample-ctas"))?;
        let ranges = self.ctas.as_ref().map(|text| CtaRange::parse_list(text));
        Ok(Selection {
            kernel: self.kernel.clone(),
            launch_skip: self.launch_skip.unwrap_or(0),
            launch_count: self.launch_count,
            ctas: ranges
                .transpose()
                .map_err(usage("ctas"))?
                .unwrap_or_default(),
            sample: launches.or(ctas),
        })
    }
}
