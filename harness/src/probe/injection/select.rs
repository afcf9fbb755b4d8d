//! The space of possible injections, and the choice of injections from it.

use std::collections::{BTreeMap, BTreeSet};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use superstep_table::table;
use superstep_trace::probe::At;
use superstep_trace::{ProbeResults, SiteTable, TraceError};

table! {
    /// One injection: a flipped bit in the result of one execution of an instruction.
    pub struct Injection: Eq, Serialize, Deserialize {
        number: u64 = "index of the injection, from 0";
        launch: u32 = "index of the launch within its stream";
        kernel: String = "its kernel";
        site: u32 = "the instruction's place";
        thread: u64 = "linear index of the thread in the launch";
        execution: u64 = "index of the execution among this thread's executions of the instruction in the launch, from 0";
        bit: u32 = "index of the flipped bit, from 0";
        target: String = "value, predicate or memory (the result of a load or an atomic)";
        what: String = "the instruction's operation";
        file: String = "its source file; empty when unknown";
        line: u32 = "its source line; 0 when unknown";
    }
}

/// An injection with a chosen instruction and launch; its thread and execution are not yet known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    row: usize,
    number: u64,
    /// Position among the executions, as a fraction in units of 2^-64.
    part: u64,
    bit: u32,
}

#[derive(Debug, Clone)]
struct Row {
    /// An injection in which the fields that depend on the choice are not filled in.
    template: Injection,
    slot: u32,
    executions: u64,
    bits: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Space {
    rows: Vec<Row>,
    /// Number of executions before each row, followed by the total.
    offsets: Vec<u64>,
}

impl Space {
    /// Builds the space from the launches of the first stream, since the order of other launches can vary.
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
                space.offsets.push(total);
                total += executions;
                space.rows.push(Row {
                    template: Injection {
                        launch: launch.launch,
                        kernel: names.display_name(&launch.kernel).to_owned(),
                        site: launch.module << 16 | slot,
                        target: target.to_owned(),
                        what: site.what.clone(),
                        file: site.file.clone(),
                        line: site.line,
                        ..Injection::default()
                    },
                    slot,
                    executions,
                    bits: site.width.max(1),
                });
            }
        }
        space.offsets.push(total);
        Ok(space)
    }

    pub fn executions(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Chooses injection `number` of the campaign with `seed`, uniformly over executions, then over the bits of the
    /// result.
    pub fn choose(&self, seed: u64, number: u64) -> Option<Choice> {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&number.to_le_bytes());
        let mut random = ChaCha8Rng::from_seed(key);
        let chosen = share(random.next_u64(), self.executions());
        let row = self.offsets.partition_point(|&offset| offset <= chosen);
        let row = row.checked_sub(1)?;
        let bits = self.rows.get(row)?.bits;
        Some(Choice {
            row,
            number,
            part: random.next_u64(),
            bit: share(random.next_u64(), u64::from(bits)) as u32,
        })
    }

    /// Returns the slots, by launch, whose per-thread counts are needed.
    pub fn places(&self, choices: &[Choice]) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut places: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for row in choices.iter().map(|choice| &self.rows[choice.row]) {
            let slots = places.entry(row.template.launch).or_default();
            slots.insert(row.slot);
        }
        places
    }

    /// Finds executions in a second profile, which has per-thread counts. Also returns the number of places whose
    /// counts changed.
    pub fn locate(
        &self,
        choices: &[Choice],
        profile: &ProbeResults,
    ) -> Result<(Vec<Injection>, u64), TraceError> {
        let mut by_row: BTreeMap<usize, Vec<&Choice>> = BTreeMap::new();
        for choice in choices {
            by_row.entry(choice.row).or_default().push(choice);
        }
        let mut found = Vec::new();
        let mut changed = 0;
        for (index, choices) in by_row {
            let row = &self.rows[index];
            let launch = (profile.launches.iter())
                .find(|launch| launch.stream == 0 && launch.launch == row.template.launch);
            let counts = match launch {
                Some(launch) => profile.threads(launch, row.slot)?.unwrap_or_default(),
                None => Vec::new(),
            };
            changed += u64::from(counts.iter().sum::<u64>() != row.executions);
            found.extend((choices.into_iter()).filter_map(|choice| row.injection(choice, &counts)));
        }
        found.sort_by_key(|injection| injection.number);
        Ok((found, changed))
    }
}

impl Row {
    /// Returns the chosen execution, counted thread by thread, or `None` if there are no executions.
    fn injection(&self, choice: &Choice, counts: &[u64]) -> Option<Injection> {
        let mut execution = share(choice.part, counts.iter().sum());
        let thread = counts.iter().position(|&count| {
            let found = execution < count;
            if !found {
                execution -= count;
            }
            found
        })?;
        Some(Injection {
            number: choice.number,
            thread: thread as u64,
            execution,
            bit: choice.bit,
            ..self.template.clone()
        })
    }
}

/// Returns `n * part / 2^64`, rounded down.
fn share(part: u64, n: u64) -> u64 {
    ((u128::from(part) * u128::from(n)) >> 64) as u64
}

#[cfg(test)]
mod tests;
