//! The space of injections, and which of them are made.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use superstep_trace::probe::At;
use superstep_trace::{ProbeResults, SiteTable, TraceError};

/// One flipped bit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injection {
    /// Its number in the campaign, from 0.
    pub number: u64,
    /// Launch, in its stream.
    pub launch: u32,
    /// Kernel.
    pub kernel: String,
    /// The instruction's place.
    pub site: u32,
    /// Which of its executions in the launch, from 0.
    pub execution: u64,
    /// Which bit of the result, from 0.
    pub bit: u32,
    /// `value`, `predicate` or `memory` (what a load or an atomic brought).
    pub target: String,
    /// What the instruction is.
    pub what: String,
    /// Source line; 0 when unknown.
    pub line: u32,
}

/// One instruction in one launch.
#[derive(Debug, Clone)]
struct Row {
    launch: u32,
    kernel: String,
    site: u32,
    executions: u64,
    bits: u32,
    target: &'static str,
    what: String,
    line: u32,
}

/// Every execution of every instruction of a profiled run.
#[derive(Debug, Clone, Default)]
pub struct Space {
    rows: Vec<Row>,
    /// Executions before each row, and behind the last.
    before: Vec<u64>,
}

impl Space {
    /// The space of a profile. Launches of streams other than the first are left out: their order may change.
    ///
    /// # Errors
    /// The profile cannot be read.
    pub fn of(profile: &ProbeResults) -> Result<Self, TraceError> {
        let names = SiteTable::new(&profile.modules);
        let mut space = Space::default();
        let mut total = 0;
        let mut launches: Vec<_> = profile.launches.iter().filter(|l| l.stream == 0).collect();
        launches.sort_by_key(|launch| launch.launch);
        for launch in launches {
            let sites = &profile.probe(launch)?.sites;
            for (at, executions) in profile.totals(launch)?.into_iter().enumerate() {
                let slot = launch.first_slot + at as u32;
                let Some(site) = sites.get(slot as usize).filter(|_| executions > 0) else {
                    continue;
                };
                let target = match site.at {
                    At::Predicate => "predicate",
                    _ if site.what == "load" || site.what.starts_with("atomic") => "memory",
                    _ => "value",
                };
                space.before.push(total);
                total += executions;
                space.rows.push(Row {
                    launch: launch.launch,
                    kernel: names.display_name(&launch.kernel).to_owned(),
                    site: launch.module << 16 | slot,
                    executions,
                    bits: site.width.max(1),
                    target,
                    what: site.what.clone(),
                    line: site.line,
                });
            }
        }
        space.before.push(total);
        Ok(space)
    }

    /// Executions in it.
    pub fn executions(&self) -> u64 {
        self.before.last().copied().unwrap_or(0)
    }

    /// Injection `number` of the campaign with `seed`: every execution is as likely as every other, then every bit of its result. `None`
    /// of an empty space.
    pub fn choose(&self, seed: u64, number: u64) -> Option<Injection> {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&number.to_le_bytes());
        let mut random = ChaCha8Rng::from_seed(key);
        // The product's upper half: as even as 64 bits allow.
        let mut below = |n: u64| ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64;
        let chosen = below(self.executions());
        let index = self.before.partition_point(|&before| before <= chosen);
        let index = index.checked_sub(1)?;
        let row = self.rows.get(index)?;
        debug_assert!(chosen - self.before[index] < row.executions);
        Some(Injection {
            number,
            launch: row.launch,
            kernel: row.kernel.clone(),
            site: row.site,
            execution: chosen - self.before[index],
            bit: below(u64::from(row.bits)) as u32,
            target: row.target.to_owned(),
            what: row.what.clone(),
            line: row.line,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(executions: &[u64]) -> Space {
        let mut space = Space::default();
        let mut total = 0;
        for (site, &executions) in executions.iter().enumerate() {
            space.before.push(total);
            total += executions;
            space.rows.push(Row {
                launch: 0,
                kernel: "k".into(),
                site: site as u32,
                executions,
                bits: 32,
                target: "value",
                what: "add".into(),
                line: 1,
            });
        }
        space.before.push(total);
        space
    }

    #[test]
    fn sites_are_chosen_as_often_as_they_are_executed() {
        let space = space(&[100, 300, 600]);
        let mut counts = [0; 3];
        for number in 0..10_000 {
            let injection = space.choose(7, number).unwrap();
            assert!(injection.execution < [100, 300, 600][injection.site as usize]);
            assert!(injection.bit < 32);
            counts[injection.site as usize] += 1;
        }
        // Three standard deviations of the binomial distribution.
        for (count, share) in counts.into_iter().zip([0.1f64, 0.3, 0.6]) {
            let deviation = (10_000.0 * share * (1.0 - share)).sqrt();
            let expected = 10_000.0 * share;
            assert!(
                (f64::from(count) - expected).abs() < 3.0 * deviation,
                "{counts:?}"
            );
        }
    }

    #[test]
    fn an_injection_depends_on_seed_and_number_alone() {
        let space = space(&[5, 5]);
        assert_eq!(space.choose(1, 9), space.choose(1, 9));
        let differ = (0..50).filter(|&n| space.choose(1, n) != space.choose(2, n));
        assert!(differ.count() > 25);
        assert_eq!(
            Space {
                rows: vec![],
                before: vec![0]
            }
            .choose(1, 0),
            None
        );
    }
}
