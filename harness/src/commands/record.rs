//! Options that limit what is recorded.

use superstep_build::failure::{Failure, FailureKind};
use superstep_trace::{CtaRange, Pattern, Sample, SampleUnit, SelectionError};

/// Which launches and CTAs are recorded; without any of these, all are.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Recording part of the program")]
pub struct RecordArgs {
    /// Record only kernels whose names match this pattern: a glob, or `regex:EXPR`.
    #[arg(long, value_name = "PATTERN")]
    kernel: Option<Pattern>,
    /// Skip the first N launches of these kernels, counted over the whole program.
    #[arg(long, value_name = "N")]
    launch_skip: Option<u64>,
    /// Record the N launches after those.
    #[arg(long, value_name = "N")]
    launch_count: Option<u64>,
    /// Record only these CTAs of each launch, by linear number, for example 0-15,40.
    #[arg(long, value_name = "RANGES")]
    ctas: Option<String>,
    /// Record this share of the launches, chosen at random, and estimate the totals.
    #[arg(long, value_name = "SHARE", conflicts_with = "sample_ctas")]
    sample_launches: Option<String>,
    /// Record this share of the CTAs, chosen at random, and estimate the totals.
    #[arg(long, value_name = "SHARE")]
    sample_ctas: Option<String>,
    /// Seed of the sample [default: 1].
    #[arg(long, value_name = "N")]
    sample_seed: Option<u64>,
}

impl RecordArgs {
    /// What a probe can do: a launch has it or does without.
    pub fn whole_launches(&self) -> Result<(), Failure> {
        if self.ctas.is_none() && self.sample_ctas.is_none() {
            return Ok(());
        }
        let message = "failed to probe some CTAs of a launch: a launch is probed as a whole or not at all; choose launches, with --kernel, \
                       --launch-skip, --launch-count or --sample-launches";
        Err(Failure::new(FailureKind::Usage, message))
    }

    /// The same for a traced program's environment.
    pub fn environment(&self) -> Result<Vec<(String, String)>, Failure> {
        let usage = |option: &str| {
            let option = option.to_owned();
            move |error: SelectionError| {
                Failure::new(FailureKind::Usage, format!("--{option}: {error}"))
            }
        };
        let seed = self.sample_seed.unwrap_or(1);
        for (option, unit, rate) in [
            (
                "sample-launches",
                SampleUnit::Launches,
                &self.sample_launches,
            ),
            ("sample-ctas", SampleUnit::Ctas, &self.sample_ctas),
        ] {
            if let Some(rate) = rate {
                Sample::parse(unit, rate, seed).map_err(usage(option))?;
            }
        }
        if let Some(text) = &self.ctas {
            CtaRange::parse_list(text).map_err(usage("ctas"))?;
        }
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let variables = [
            (
                "SUPERSTEP_KERNEL",
                self.kernel.as_ref().map(Pattern::to_string),
            ),
            ("SUPERSTEP_LAUNCH_SKIP", number(self.launch_skip)),
            ("SUPERSTEP_LAUNCH_COUNT", number(self.launch_count)),
            ("SUPERSTEP_CTAS", self.ctas.clone()),
            ("SUPERSTEP_SAMPLE_LAUNCHES", self.sample_launches.clone()),
            ("SUPERSTEP_SAMPLE_CTAS", self.sample_ctas.clone()),
            ("SUPERSTEP_SAMPLE_SEED", number(self.sample_seed)),
        ];
        let set = variables
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Ok(set.collect())
    }
}
