//! Tests of random choices.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;

use super::*;

fn traits(backend: Backend, protocols: &[Protocol]) -> Traits {
    Traits {
        backend,
        protocols: protocols.to_vec(),
        kernels: vec!["_Z4stepPf".to_owned(), "_Z4turnPf".to_owned()],
        launches: 40,
        ctas: 64,
        duration: Cell::new(Duration::from_millis(100)),
    }
}

#[test]
fn seed_determines_the_case() {
    let program = traits(Backend::Cuda, &Protocol::ALL);
    let draw = |seed| Draw::new(&mut Random::new(seed), &program);
    for seed in 0..100 {
        assert_eq!(draw(seed), draw(seed));
    }
    assert!((1..100).any(|seed| draw(seed) != draw(0)));
}

#[test]
fn every_option_is_drawn() {
    let mut seen: HashMap<&str, u64> = HashMap::new();
    let mut kills = 0;
    for backend in [Backend::Cpu, Backend::Cuda] {
        for protocol in Protocol::ALL {
            let program = traits(backend, &[protocol]);
            for seed in 0..500 {
                let draw = Draw::new(&mut Random::new(seed), &program);
                assert_eq!(draw.config.protocol, Some(protocol));
                kills += u32::from(draw.kill.is_some());
                assert!(draw.kill.is_none_or(|at| at <= Duration::from_millis(110)));
                for (name, _) in draw.config.to_env() {
                    *seen.entry(name).or_default() += 1;
                }
                let config = draw.config;
                let bin_records = config.bin_records.map(NonZeroU32::get);
                let powers = [config.bins, bin_records].into_iter().flatten();
                assert!(powers.into_iter().all(u32::is_power_of_two));
            }
        }
    }
    let names = [&CPU[..], &STREAM, &THESIS].into_iter().flatten();
    for name in names.map(|(name, _)| *name).collect::<HashSet<_>>() {
        assert!(seen.remove(name).is_some_and(|times| times > 100), "{name}");
    }
    // The protocol and the seven options of a selection remain.
    assert_eq!(seen.len(), 8, "{seen:?}");
    assert!((700..1300).contains(&kills), "{kills}");
}

#[test]
fn selection_round_trips_through_the_environment() {
    let program = traits(Backend::Cpu, &[Protocol::Stream]);
    let mut compared = 0;
    for seed in 0..300 {
        let draw = Draw::new(&mut Random::new(seed), &program);
        let set: HashMap<_, _> = draw.config.to_env().into_iter().collect();
        let lookup = |name: &str| set.get(name)?.to_str().map(str::to_owned);
        let read = Config::from_env(lookup).unwrap().selection;
        assert_eq!(read, draw.config.selection);
        compared += usize::from(!read.is_everything());
    }
    assert!(compared > 100);
}
