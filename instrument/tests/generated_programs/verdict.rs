//! Compares the driver's observations of the two forms of each program.

use std::collections::BTreeMap;
use superstep_trace::{ModuleTable, Op};

/// An access, in the form that the test compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    op: Option<Op>,
    width_bytes: u64,
    /// Number of the object in global memory, identical in both forms; 0 if the access is not to global memory.
    object: u64,
    offset: u64,
}

/// Observed behaviour of one form of a program: its accesses, and the hashes of its final memory.
#[derive(Debug, Default, PartialEq, Eq)]
struct Run {
    events: Vec<Event>,
    memory: Vec<(u64, u64)>,
}

/// Failing programs as (module, program), each with the first difference, and the number of compared accesses.
type Judgement = (BTreeMap<(usize, usize), String>, u64);

/// Compares the driver's observations.
pub fn judge(words: &[u64], tables: &[ModuleTable]) -> Result<Judgement, String> {
    let (mut runs, mut rest) = (BTreeMap::<(usize, usize), Vec<Run>>::new(), words);
    let mut take = |count: u64| -> Result<&[u64], String> {
        let (taken, after) = rest
            .split_at_checked(count as usize)
            .ok_or("the driver's result ends early")?;
        rest = after;
        Ok(taken)
    };
    while let Ok(&[module, program, count]) = take(3) {
        let key = (module as usize, program as usize);
        let table = tables.get(key.0).ok_or("a module has no table")?;
        let mut run = Run::default();
        for event in take(4 * count)?.chunks_exact(4) {
            run.events.push(decode(event, table)?);
        }
        let objects = take(1)?[0];
        run.memory = take(2 * objects)?
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect();
        runs.entry(key).or_default().push(run);
    }
    let (mut failures, mut accesses) = (BTreeMap::new(), 0);
    for (key, list) in runs {
        let [oracle, traced] = &list[..] else {
            return Err(format!("{key:?} ran {} times", list.len()));
        };
        accesses += oracle.events.len() as u64;
        if let Some(difference) = difference(oracle, traced) {
            failures.insert(key, difference);
        }
    }
    Ok((failures, accesses))
}

fn decode(event: &[u64], table: &ModuleTable) -> Result<Event, String> {
    let &[what, width_bytes, object, offset] = event else {
        return Err("an event does not have four words".to_owned());
    };
    let op = if what >> 32 == 1 {
        Op::from_code(what as u8)
    } else {
        let index = (what & 0xffff) as usize;
        let site = table.sites.get(index).ok_or("an event has no site")?;
        if u64::from(site.id.0) != what || ![0, width_bytes].contains(&u64::from(site.width_bytes))
        {
            return Err(format!(
                "the site {site:?} has an event that is {width_bytes} bytes wide"
            ));
        }
        Some(site.op)
    };
    Ok(Event {
        op,
        width_bytes,
        object,
        offset,
    })
}

fn difference(oracle: &Run, traced: &Run) -> Option<String> {
    let common = oracle.events.len().min(traced.events.len());
    for index in 0..common {
        let (expected, found) = (oracle.events[index], traced.events[index]);
        if expected != found {
            return Some(format!(
                "access {index}: expected {expected:?}, traced {found:?}"
            ));
        }
    }
    if let Some(missing) = oracle.events.get(common) {
        return Some(format!("access {common} is missing: {missing:?}"));
    }
    if let Some(extra) = traced.events.get(common) {
        return Some(format!("access {common} is unexpected: {extra:?}"));
    }
    (oracle.memory != traced.memory).then(|| "the final memory differs".to_owned())
}
