//! `superstep-bench in-situ`: time and correctness of in-situ analysis, for a program whose volumes follow formulas.

use std::path::PathBuf;
use std::time::Instant;

use superstep_abi::Config;
use superstep_analysis::communication::{Options, Transfer, Volume};
use superstep_analysis::{Analysis, analyse};
use superstep_build::failure::Failure;
use superstep_build::{bail, exit_code};
use superstep_harness::{Bundle, capture_failure};
use superstep_trace::{Capture, Protocol};

use crate::run::{executables, scratch, spec, succeed, summary};

const WORD_BYTES: u64 = 4;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bundle of the suite `bench` (`superstep bundle bench --only exchange --in-situ --out DIR`).
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    #[command(flatten)]
    size: Size,
}

/// Arguments of the program. A launch performs 4 · 2^words · rounds accesses.
#[derive(Debug, Clone, Copy, clap::Args)]
struct Size {
    /// Binary logarithm of the number of 4-byte words that a launch reads; the program needs three times as much
    /// memory.
    #[arg(long, value_name = "LOG2", default_value_t = 27)]
    words: u32,
    /// Binary logarithm of the number of words per CTA.
    #[arg(long, value_name = "LOG2", default_value_t = 17)]
    tile: u32,
    /// Rounds per launch.
    #[arg(long, value_name = "N", default_value_t = 19)]
    rounds: u64,
    #[arg(long, value_name = "N", default_value_t = 100)]
    launches: u64,
}

impl Size {
    fn ctas(self) -> u64 {
        1 << self.words.saturating_sub(self.tile)
    }

    fn accesses(self) -> u64 {
        self.launches * self.rounds * (4 << self.words)
    }

    /// Returns the expected volume of launch number `launch` of `exchange.cu`.
    fn volume(self, launch: u64) -> Volume {
        let all = WORD_BYTES << self.words;
        let from_next = all / 8;
        let rounds = self.rounds;
        let mut volume = Volume {
            loaded_bytes: 3 * all * rounds,
            input_loaded_bytes: all * rounds,
            stored_bytes: all * rounds,
            ..Volume::default()
        };
        if launch == 0 {
            volume.input_loaded_bytes += 2 * all * rounds;
        } else {
            volume.self_loaded_bytes = (all - from_next) * rounds;
            volume.communicated_loaded_bytes = (all + from_next) * rounds;
            // Repeated loads do not count.
            volume.received_bytes = all + from_next;
            volume.received_count = volume.received_bytes / WORD_BYTES;
        }
        if launch + 1 < self.launches {
            volume.communicated_stored_bytes = all;
        }
        volume
    }

    /// Returns the expected transfers to each CTA of launch number `launch`.
    fn transfers(self, launch: u64) -> Vec<Transfer> {
        let (ctas, tile) = (self.ctas(), 1u64 << self.tile);
        let hop = 2 + launch % (ctas - 3);
        let mut all = Vec::new();
        for (distance, words) in [(1, tile / 8), (hop, tile)] {
            all.extend((0..ctas).map(|cta| Transfer {
                source_launch: launch as u32 - 1,
                source_cta: ((cta + distance) % ctas) as u32,
                receiver_launch: launch as u32,
                receiver_cta: cta as u32,
                bytes: WORD_BYTES * words,
                count: words,
            }));
        }
        all
    }
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let size = args.size;
    let executables = executables(&Bundle::open(&args.bundle)?, "bench", "exchange")?;
    let scratch = scratch()?;
    let [folder, summary_file] = ["capture", "summary.json"].map(|name| scratch.path().join(name));
    // The program checks its own results.
    let seconds = |program, config: &Config| -> Result<f64, Failure> {
        let arguments: [&dyn ToString; 4] = [&size.words, &size.tile, &size.rounds, &size.launches];
        Ok(succeed(&spec(program, &arguments, config, scratch.path()))?.seconds)
    };
    let native = seconds(&executables.native, &Config::default())?;
    let config = Config {
        protocol: Some(Protocol::InSitu),
        capture: Some(folder.clone()),
        summary: Some(summary_file.clone()),
        ..Config::default()
    };
    let traced = seconds(&executables.traced, &config)?;
    let begin = Instant::now();
    let capture = Capture::open(&folder).map_err(capture_failure)?;
    let analysis = analyse(&capture, Options::everything()).map_err(capture_failure)?;
    let mut problems = capture.problems.clone();
    let summary = summary(&summary_file)?;
    problems.extend(summary.faults.iter().chain(&summary.warnings).cloned());
    problems.extend(differences(size, &analysis)?);
    let analysed = begin.elapsed().as_secs_f64();
    let kernels = summary.kernels.iter().map(|kernel| kernel.ns).sum::<u64>() as f64 / 1e9;
    let device = serde_json::to_value(&summary.device).unwrap_or_default();
    let (accesses, launches) = (size.accesses(), size.launches);
    say!("{accesses} accesses in {launches} launches; device: {device}");
    say!(
        "untraced {native:.2} s; in situ {traced:.2} s, {kernels:.2} s of it in kernels; analysis {analysed:.2} s"
    );
    say!(
        "capture: {} bytes, {} transfers",
        capture.stored_bytes().map_err(capture_failure)?,
        analysis.communication.transfers.len()
    );
    for problem in &problems {
        say!("{problem}");
    }
    if !problems.is_empty() {
        bail!(Verification, "the sums do not match the formula; see above");
    }
    say!("volumes of all launches and all transfers match the formula");
    Ok(exit_code::OK)
}

/// Returns the differences between the analysis and the formulas.
fn differences(size: Size, analysis: &Analysis) -> Result<Vec<String>, Failure> {
    let launches = &analysis.communication.launches;
    let mut problems = Vec::new();
    if launches.len() as u64 != size.launches {
        problems.push(format!("wrong number of launches: {}", launches.len()));
    }
    let mut differing = (0..)
        .zip(launches)
        .filter(|(launch, found)| found.volume != size.volume(*launch));
    if let Some((launch, found)) = differing.next() {
        let (found, expected) = (found.volume, size.volume(launch));
        problems.push(format!(
            "{} launches differ from the formula; the first is launch {launch}: {found:?} instead of {expected:?}",
            1 + differing.count()
        ));
    }
    if let Some(in_situ) = &analysis.in_situ {
        let received = in_situ.total.of(|volume| volume.received_bytes);
        if !received.is_exact() {
            problems.push(format!(
                "up to {} of the received bytes did not fit into the GPU's record of received words, so they may have \
                 been received before; choose a smaller --words and more --launches",
                received.most - received.least
            ));
        }
    }
    let mut expected: Vec<_> = (1..size.launches)
        .flat_map(|launch| size.transfers(launch))
        .collect();
    let mut found = Vec::new();
    (analysis.communication.transfers)
        .each(|transfer| found.push(*transfer))
        .map_err(capture_failure)?;
    let order = |it: &Transfer| (it.receiver_launch, it.receiver_cta, it.source_cta);
    expected.sort_unstable_by_key(order);
    found.sort_unstable_by_key(order);
    if found != expected {
        let first = (found.iter().zip(&expected)).find(|(found, expected)| found != expected);
        let (found, expected) = (found.len(), expected.len());
        problems.push(format!(
            "{found} transfers instead of {expected}; the first difference (found, expected): {first:?}"
        ));
    }
    Ok(problems)
}

#[cfg(test)]
mod tests;
