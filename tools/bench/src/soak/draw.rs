//! Random choices for a soak case, drawn from its seed and limited by the program's traits.

use std::cell::Cell;
use std::collections::HashMap;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use superstep_abi::Config;
use superstep_abi::variable::{
    BIN_RECORDS, BINS, CONSUMER_PAUSE_US, CPU_THREADS, HOST_PIECES, RING_PIECES, WORKERS,
};
use superstep_trace::{Backend, CtaRange, Pattern, Protocol, Sample, SampleUnit, Selection};

/// Properties of a program that limit the choices.
#[derive(Debug, Clone)]
pub struct Traits {
    pub backend: Backend,
    /// Protocols that its traced variant can use.
    pub protocols: Vec<Protocol>,
    pub kernels: Vec<String>,
    pub launches: u64,
    /// Number of CTAs in its largest grid.
    pub ctas: u32,
    /// Shortest time observed so far from the start of a capture to its last event; system load prolongs runs.
    pub duration: Cell<Duration>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    pub config: Config,
    /// Time after the start of its capture at which the program is killed.
    pub kill: Option<Duration>,
}

/// Range of values of an environment variable: powers of two with these exponents, or plain numbers.
enum Range {
    Exponents(u64, u64),
    Numbers(u64, u64),
}

const CPU: [(&str, Range); 1] = [(CPU_THREADS, Range::Numbers(1, 8))];

/// Ranges of the protocol's settings, from minimal to large buffers.
const STREAM: [(&str, Range); 6] = [
    (BINS, Range::Exponents(0, 7)),
    (BIN_RECORDS, Range::Exponents(5, 14)),
    (RING_PIECES, Range::Numbers(2, 8)),
    (HOST_PIECES, Range::Numbers(1, 64)),
    (WORKERS, Range::Numbers(1, 8)),
    (CONSUMER_PAUSE_US, Range::Numbers(1, 300)),
];

const THESIS: [(&str, Range); 2] = [
    (BINS, Range::Exponents(0, 7)),
    (BIN_RECORDS, Range::Exponents(2, 17)),
];

pub struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Returns a seed for a case, short enough to type.
    pub fn seed(&mut self) -> u64 {
        u64::from(self.0.next_u32())
    }

    pub fn number(&mut self, min: u64, max: u64) -> u64 {
        let count = (max - min).saturating_add(1);
        min + self.0.next_u64() % count
    }

    pub fn item<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.number(0, (items.len() as u64).saturating_sub(1)) as usize)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.number(1, count) == 1
    }
}

impl Draw {
    pub fn new(random: &mut Random, program: &Traits) -> Self {
        let protocol = random.item(&program.protocols).copied();
        let protocol = protocol.unwrap_or_default();
        let ranges: &[_] = match (program.backend, protocol) {
            (Backend::Cpu, _) => &CPU,
            (_, Protocol::Stream) => &STREAM,
            (_, Protocol::Thesis) => &THESIS,
            (_, Protocol::InSitu) => &[],
        };
        let mut settings = HashMap::new();
        for (name, range) in ranges {
            // Other variables keep their defaults.
            if random.one_in(2) {
                let number = match *range {
                    Range::Exponents(min, max) => 1 << random.number(min, max),
                    Range::Numbers(min, max) => random.number(min, max),
                };
                settings.insert(*name, number.to_string());
            }
        }
        let config = Config::from_env(|name| settings.get(name).cloned());
        Self {
            config: Config {
                protocol: Some(protocol),
                selection: match random.one_in(2) {
                    true => selection(random, program),
                    false => Selection::default(),
                },
                ..config.expect("all ranges are valid")
            },
            kill: random.one_in(3).then(|| {
                // Kill the program before or shortly after it would usually exit.
                let span = program.duration.get().mul_f64(1.1);
                span.mul_f64(random.number(0, 1 << 20) as f64 / f64::from(1 << 20))
            }),
        }
    }

    /// Returns the settings, and when the program is killed, in one line.
    pub fn line(&self) -> String {
        let settings = self.config.to_env().into_iter();
        let settings = settings.map(|(name, value)| format!("{name}={}", value.display()));
        let kill = self
            .kill
            .map(|at| format!(", killed after {:.3} s", at.as_secs_f64()));
        settings.collect::<Vec<_>>().join(" ") + &kill.unwrap_or_default()
    }
}

/// Draws a selection, which may include everything or nothing.
fn selection(random: &mut Random, program: &Traits) -> Selection {
    let mut chosen = Selection::default();
    while chosen.is_everything() {
        if random.one_in(3) {
            chosen.kernel = (random.item(&program.kernels)).and_then(|name| pattern(random, name));
        }
        if random.one_in(4) {
            chosen.launch_skip = random.number(0, program.launches);
        }
        if random.one_in(4) {
            chosen.launch_count = Some(random.number(0, program.launches));
        }
        let last = u64::from(program.ctas.saturating_sub(1));
        for _ in 0..random.number(0, 6).saturating_sub(3) {
            // The CTA past the last one can be selected, too.
            let (a, b) = (random.number(0, last + 1), random.number(0, last + 1));
            let (first, last) = (a.min(b) as u32, a.max(b) as u32);
            chosen.ctas.push(CtaRange { first, last });
        }
        if random.one_in(3) {
            let units = [SampleUnit::Launches, SampleUnit::Ctas];
            chosen.sample = random.item(&units).map(|&unit| Sample {
                unit,
                rate_per_million: random.number(1, 1_000_000) as u32,
                seed: random.number(0, u64::MAX),
            });
        }
    }
    chosen
}

/// Draws a pattern that matches the kernel `name`, and perhaps others.
fn pattern(random: &mut Random, name: &str) -> Option<Pattern> {
    let prefix: String = (name.chars())
        .take(random.number(1, name.chars().count().max(1) as u64) as usize)
        .collect();
    let text = match random.number(0, 2) {
        0 => name.to_owned(),
        1 => format!("{prefix}*"),
        // The only special characters in mangled names are `$` and `.`.
        _ => format!("regex:^{}", prefix.replace('$', "[$]").replace('.', "[.]")),
    };
    text.parse().ok()
}

#[cfg(test)]
mod tests;
