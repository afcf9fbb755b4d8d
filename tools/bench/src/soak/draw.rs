//! What a case of the soak does: drawn from its seed, and from what is known of the program.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use superstep_abi::Config;
use superstep_abi::variable::{
    BIN_RECORDS, BINS, CONSUMER_PAUSE_US, CPU_THREADS, HOST_PIECES, RING_PIECES, WORKERS,
};
use superstep_trace::{Backend, CtaRange, Pattern, Protocol, Sample, SampleUnit, Selection};

/// What is known of a program before it is drawn.
#[derive(Debug, Clone)]
pub struct Traits {
    pub backend: Backend,
    /// Protocols that its traced variant can use.
    pub protocols: Vec<Protocol>,
    /// Mangled names.
    pub kernels: Vec<String>,
    pub launches: u64,
    /// Of its largest grid.
    pub ctas: u32,
    /// From the begin of its capture to the last event in it: the shortest time so far, as other work makes it longer.
    pub lasts: Cell<Duration>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    pub protocol: Protocol,
    /// Sizes of buffers, and numbers of threads.
    pub settings: Vec<(&'static str, u64)>,
    pub selection: Selection,
    /// When the program is killed, after the begin of its capture.
    pub kill: Option<Duration>,
}

/// A number that a variable of the environment gets: a power of two where the exponents are given, else one of a range.
enum Range {
    Exponents(u64, u64),
    Numbers(u64, u64),
}

const CPU: [(&str, Range); 1] = [(CPU_THREADS, Range::Numbers(1, 8))];

/// From buffers that hardly work to large ones.
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

    /// The seed of a case: short enough to be typed.
    pub fn seed(&mut self) -> u64 {
        u64::from(self.0.next_u32())
    }

    /// A number in `least..=most`.
    pub fn number(&mut self, least: u64, most: u64) -> u64 {
        let count = (most - least).saturating_add(1);
        least + self.0.next_u64() % count
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
        let mut settings = Vec::new();
        for (name, range) in ranges {
            // What is not set is as usual.
            if random.one_in(2) {
                let number = match *range {
                    Range::Exponents(least, most) => 1 << random.number(least, most),
                    Range::Numbers(least, most) => random.number(least, most),
                };
                settings.push((*name, number));
            }
        }
        Self {
            protocol,
            settings,
            selection: match random.one_in(2) {
                true => selection(random, program),
                false => Selection::default(),
            },
            kill: random.one_in(3).then(|| {
                // A little behind its usual end as well.
                let span = program.lasts.get().mul_f64(1.1);
                span.mul_f64(random.number(0, 1 << 20) as f64 / f64::from(1 << 20))
            }),
        }
    }

    /// How the program records.
    pub fn config(&self) -> Config {
        let value = |name: &str| {
            let mut settings = self.settings.iter();
            let (_, number) = settings.find(|(setting, _)| *setting == name)?;
            Some(number.to_string())
        };
        Config {
            protocol: Some(self.protocol),
            selection: self.selection.clone(),
            ..Config::from_env(value).expect("all ranges are usable")
        }
    }
}

impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.config().to_env().iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            write!(f, "{space}{name}={}", value.display())?;
        }
        match self.kill {
            Some(at) => write!(f, ", killed after {:.3} s", at.as_secs_f64()),
            None => Ok(()),
        }
    }
}

/// Part of the program, which may be all of it or nothing.
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
            // One CTA behind the last is asked for, too.
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

/// A pattern that matches the kernel `name`, and perhaps others.
fn pattern(random: &mut Random, name: &str) -> Option<Pattern> {
    let kept: String = (name.chars())
        .take(random.number(1, name.chars().count().max(1) as u64) as usize)
        .collect();
    let text = match random.number(0, 2) {
        0 => name.to_owned(),
        1 => format!("{kept}*"),
        // Mangled names have nothing that an expression takes for more than itself, but for `$` and `.`.
        _ => format!("regex:^{}", kept.replace('$', "[$]").replace('.', "[.]")),
    };
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    fn traits(backend: Backend, protocols: &[Protocol]) -> Traits {
        Traits {
            backend,
            protocols: protocols.to_vec(),
            kernels: vec!["_Z4stepPf".to_owned(), "_Z4turnPf".to_owned()],
            launches: 40,
            ctas: 64,
            lasts: Cell::new(Duration::from_millis(100)),
        }
    }

    #[test]
    fn a_seed_draws_one_case() {
        let program = traits(Backend::Cuda, &Protocol::ALL);
        let draw = |seed| Draw::new(&mut Random::new(seed), &program);
        for seed in 0..100 {
            assert_eq!(draw(seed), draw(seed));
        }
        assert!((1..100).any(|seed| draw(seed) != draw(0)));
    }

    #[test]
    fn everything_is_drawn() {
        let mut seen: HashMap<&str, u64> = HashMap::new();
        let mut kills = 0;
        for backend in [Backend::Cpu, Backend::Cuda] {
            for protocol in Protocol::ALL {
                let program = traits(backend, &[protocol]);
                for seed in 0..500 {
                    let draw = Draw::new(&mut Random::new(seed), &program);
                    assert_eq!(draw.protocol, protocol);
                    kills += u32::from(draw.kill.is_some());
                    assert!(draw.kill.is_none_or(|at| at <= Duration::from_millis(110)));
                    for (name, _) in draw.config().to_env() {
                        *seen.entry(name).or_default() += 1;
                    }
                    for (name, number) in draw.settings {
                        let is_power = name.contains("BIN");
                        assert!(number > 0 && (!is_power || number.is_power_of_two()));
                    }
                }
            }
        }
        let names = [&CPU[..], &STREAM, &THESIS].into_iter().flatten();
        for name in names.map(|(name, _)| *name).collect::<HashSet<_>>() {
            assert!(seen.remove(name).is_some_and(|times| times > 100), "{name}");
        }
        // Those of the protocol and of the seven options of a selection are left.
        assert_eq!(seen.len(), 8, "{seen:?}");
        assert!((700..1300).contains(&kills), "{kills}");
    }

    #[test]
    fn selection_survives_the_environment() {
        let program = traits(Backend::Cpu, &[Protocol::Stream]);
        let mut compared = 0;
        for seed in 0..300 {
            let draw = Draw::new(&mut Random::new(seed), &program);
            let set: HashMap<_, _> = draw.config().to_env().into_iter().collect();
            let lookup = |name: &str| set.get(name)?.to_str().map(str::to_owned);
            let read = Config::from_env(lookup).unwrap().selection;
            assert_eq!(read, draw.selection);
            compared += usize::from(!read.is_everything());
        }
        assert!(compared > 100);
    }
}
