//! Outcomes of injections and of campaigns.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use superstep_trace::named;

use crate::results::{plain_table, table_lines};
use crate::suite::Run;
use crate::verify::{check_manifest, outputs_equal};
use superstep_build::manifest::Checks;
use superstep_build::run::End;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Masked,
    /// The program was killed by a signal, or ran out of memory.
    Crash,
    Hang,
    /// A kernel failed, the exit code or an expected message differs, or there is an error message.
    FailureSymptom,
    /// An output file differs.
    OutputDiffers,
    /// Only standard output differs.
    StdoutOnly,
    /// The selected dynamic instruction was not reached, so nothing was flipped: the executed instructions vary between runs.
    Missed,
}

named! {
    /// Effect on the program's results, in the standard terms of the field.
    pub enum Effect("effect") {
        Masked => "masked",
        /// Silent data corruption.
        Sdc => "SDC",
        /// Detected unrecoverable error.
        Due => "DUE",
    }
}

impl Outcome {
    /// All outcomes except `Missed`, in the figure's order.
    pub const ALL: [Outcome; 6] = [
        Outcome::Masked,
        Outcome::Crash,
        Outcome::Hang,
        Outcome::FailureSymptom,
        Outcome::StdoutOnly,
        Outcome::OutputDiffers,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Outcome::Masked => "masked",
            Outcome::Crash => "crash",
            Outcome::Hang => "hang",
            Outcome::FailureSymptom => "failure symptom",
            Outcome::OutputDiffers => "output differs",
            Outcome::StdoutOnly => "stdout only",
            Outcome::Missed => "missed",
        }
    }

    /// Returns the effect, or `None` if nothing was flipped.
    pub fn effect(self) -> Option<Effect> {
        match self {
            Outcome::Masked => Some(Effect::Masked),
            Outcome::Crash | Outcome::Hang | Outcome::FailureSymptom => Some(Effect::Due),
            Outcome::OutputDiffers | Outcome::StdoutOnly => Some(Effect::Sdc),
            Outcome::Missed => None,
        }
    }

    /// Classifies `run` by comparing it with an error-free `reference`. `flips` is the number of flipped bits, or
    /// `None` if the launch did not complete.
    pub fn of(run: &Run, reference: &Run, checks: &Checks, flips: Option<u64>) -> Self {
        match run.files.end {
            End::Signalled(_) | End::OutOfMemory => return Outcome::Crash,
            End::TimedOut | End::Interrupted => return Outcome::Hang,
            End::Exited(_) => {}
        }
        let faults = run.summary.as_ref().map(|summary| summary.faults.len());
        let failed = faults.as_ref().is_ok_and(|&faults| faults > 0);
        // A missing summary means that the program ended abruptly, perhaps during the launch.
        if flips == Some(0) || flips.is_none() && faults.as_ref().is_ok_and(|&faults| faults == 0) {
            return Outcome::Missed;
        }
        if run.files.end != End::Exited(checks.exit_code) {
            return Outcome::FailureSymptom;
        }
        let manifest = check_manifest(&run.files, checks);
        let check_failed = manifest.iter().any(|check| !check.ok);
        let messages = |run: &Run| without_numbers(&run.stderr_text());
        if failed || check_failed || messages(run) != messages(reference) {
            return Outcome::FailureSymptom;
        }
        if outputs_equal(&reference.files, &run.files, checks).ok {
            return Outcome::Masked;
        }
        // Compares only files: the pattern marks every line of standard output as volatile.
        let files_only = Checks {
            volatile_lines: Regex::new("").into_iter().collect(),
            ..checks.clone()
        };
        if outputs_equal(&reference.files, &run.files, &files_only).ok {
            Outcome::StdoutOnly
        } else {
            Outcome::OutputDiffers
        }
    }
}

/// Replaces numbers, such as times and addresses, in a program's output.
fn without_numbers(text: &str) -> String {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"0x[0-9a-fA-F]+|[0-9]+(\.[0-9]+)?").expect("the pattern must be valid")
    });
    NUMBER.replace_all(text, "#").into_owned()
}

/// Returns `count`'s share of `all` and its 95 % confidence interval (Wilson, "Probable inference …", JASA 22, 1927).
pub(super) fn wilson(count: u64, all: u64) -> [f64; 3] {
    const Z: f64 = 1.959_963_984_540_054;
    if all == 0 {
        return [0.0, 0.0, 1.0];
    }
    let (n, share) = (all as f64, count as f64 / all as f64);
    let scale = 1.0 + Z * Z / n;
    let mid = (share + Z * Z / (2.0 * n)) / scale;
    let margin = Z / scale * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    [share, (mid - margin).max(0.0), (mid + margin).min(1.0)]
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tally {
    pub outcome: Outcome,
    pub count: u64,
    /// Share and its 95 % confidence interval.
    pub share: [f64; 3],
}

/// Counts the outcomes by class, excluding missed injections.
pub fn tally(outcomes: &[Outcome]) -> Vec<Tally> {
    let injected = (outcomes.iter()).filter(|&&outcome| outcome != Outcome::Missed);
    let all = injected.count() as u64;
    let tally = |outcome| {
        let matching = outcomes.iter().filter(|&&other| other == outcome);
        let count = matching.count() as u64;
        Tally {
            outcome,
            count,
            share: wilson(count, all),
        }
    };
    Outcome::ALL.map(tally).into()
}

/// Formats one line per program with one column per effect. The mean gives all programs equal weight.
pub fn effect_table(programs: &[(String, Vec<Tally>)]) -> String {
    let header = ["program", "injections"].into_iter();
    let header = header.chain(Effect::ALL.map(Effect::name));
    let mut table = plain_table(header, false);
    let mut means = [0.0; 3];
    for (name, tallies) in programs {
        let all: u64 = tallies.iter().map(|tally| tally.count).sum();
        let cells = Effect::ALL
            .into_iter()
            .zip(&mut means)
            .map(|(effect, mean)| {
                let has_effect = |tally: &&Tally| tally.outcome.effect() == Some(effect);
                let count = tallies.iter().filter(has_effect).map(|tally| tally.count);
                let [share, low, high] = wilson(count.sum(), all).map(|share| 100.0 * share);
                *mean += share / programs.len() as f64;
                format!("{share:.1} % ({low:.1}-{high:.1})")
            });
        table.add_row([name.clone(), all.to_string()].into_iter().chain(cells));
    }
    if programs.len() > 1 {
        let means = means.map(|mean| format!("{mean:.1} %"));
        let all = ["mean".to_owned(), String::new()].into_iter();
        table.add_row(all.chain(means));
    }
    table_lines(table, 1).join("\n")
}

#[cfg(test)]
mod tests;
