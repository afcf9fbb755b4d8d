//! Options that limit what is recorded.

use superstep_build::bail;
use superstep_build::failure::Failure;
use superstep_trace::{CtaRange, Pattern, Sample, SampleUnit};

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
    /// Checks that whole launches are chosen: a probe is in all CTAs of a launch or in none.
    pub fn whole_launches(&self) -> Result<(), Failure> {
        if self.ctas.is_none() && self.sample_ctas.is_none() {
            return Ok(());
        }
        bail!(
            Usage,
            "failed to probe some CTAs of a launch: a launch is probed as a whole or not at all; choose launches, with --kernel, \
             --launch-skip, --launch-count or --sample-launches"
        )
    }

    /// The variables for a traced program's environment.
    pub fn environment(&self) -> Result<Vec<(String, String)>, Failure> {
        let seed = self.sample_seed.unwrap_or(1);
        let sample = |unit, rate: &Option<String>| {
            let sample = rate.as_ref().map(|rate| Sample::parse(unit, rate, seed));
            sample.map_or(Ok(()), |sample| sample.map(drop))
        };
        let ctas = self.ctas.as_ref().map(|text| CtaRange::parse_list(text));
        for (option, parsed) in [
            (
                "sample-launches",
                sample(SampleUnit::Launches, &self.sample_launches),
            ),
            ("sample-ctas", sample(SampleUnit::Ctas, &self.sample_ctas)),
            ("ctas", ctas.map_or(Ok(()), |ctas| ctas.map(drop))),
        ] {
            if let Err(error) = parsed {
                bail!(Usage, "--{option}: {error}");
            }
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
