//! Compares access groups of a capture with hardware counters, launch by launch.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use superstep_trace::{Capture, LaunchId, SiteId, StreamId, TraceError};

use super::CLASSES;
use super::ncu::Profiled;
use crate::verify::kind_of;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ClassCounts {
    pub groups: u64,
    /// Groups whose width exceeds 16 bytes or is not a power of two, for example from `memcpy`. Each becomes multiple
    /// instructions.
    pub wide_groups: u64,
    pub requests: Option<u64>,
    pub executed: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaunchComparison {
    pub stream: StreamId,
    pub launch: LaunchId,
    pub kernel: String,
    /// Counts by the name of the class.
    pub classes: Vec<(&'static str, ClassCounts)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    pub launches: Vec<LaunchComparison>,
    /// Reason why the launches could not be matched.
    pub unmatched: Option<String>,
}

impl ClassCounts {
    /// Returns whether there are as many requests as groups. A missing counter counts as 0 requests.
    pub fn is_equal(&self) -> bool {
        self.requests
            .map_or(self.groups == 0, |requests| requests == self.groups)
    }

    fn add(&mut self, other: &ClassCounts) {
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b);
        self.groups += other.groups;
        self.wide_groups += other.wide_groups;
        self.requests = sum(self.requests, other.requests);
        self.executed = sum(self.executed, other.executed);
    }
}

impl Comparison {
    /// Returns whether every launch was counted, with as many requests as groups in each class.
    pub fn is_equal(&self) -> bool {
        let mut classes = self.launches.iter().flat_map(|launch| &launch.classes);
        self.unmatched.is_none() && classes.all(|(_, counts)| counts.is_equal())
    }

    /// Returns the sums by kernel and class, ordered by first launch, with the number of launches that differ.
    pub fn by_kernel(&self) -> Vec<(String, &'static str, ClassCounts, u64)> {
        let mut sums: Vec<(String, &'static str, ClassCounts, u64)> = Vec::new();
        for launch in &self.launches {
            for (class, counts) in &launch.classes {
                let mut known = sums.iter_mut();
                let known =
                    known.find(|(kernel, other, ..)| *kernel == launch.kernel && other == class);
                let differs = u64::from(!counts.is_equal());
                match known {
                    Some((_, _, sum, different)) => {
                        sum.add(counts);
                        *different += differs;
                    }
                    None => sums.push((launch.kernel.clone(), *class, *counts, differs)),
                }
            }
        }
        sums
    }
}

pub fn compare(capture: &Capture, profile: &[Profiled]) -> Result<Comparison, TraceError> {
    let groups = groups_by_site(capture)?;
    let launches: Vec<_> = capture.launches().map(|record| record.launch).collect();
    let kernels: HashSet<&str> = launches.iter().map(|it| it.kernel.as_str()).collect();
    // The program may launch kernels that Superstep did not build.
    let is_traced = |launch: &&Profiled| kernels.contains(launch.kernel.as_str());
    let profile: Vec<_> = profile.iter().filter(is_traced).collect();
    let mut comparison = Comparison::default();
    let (traced, profiled) = (launches.len(), profile.len());
    if profiled != traced {
        comparison.unmatched = Some(format!("{traced} launches traced, {profiled} profiled"));
    }
    let sites = capture.sites();
    for ((number, launch), counted) in (0..).zip(&launches).zip(profile) {
        if launch.kernel != counted.kernel {
            comparison.unmatched = Some(format!(
                "launch {} of stream {} runs kernel {}, but the profile has {} instead",
                launch.launch, launch.stream, launch.kernel, counted.kernel
            ));
            break;
        }
        let mut classes = CLASSES.map(|class| {
            let counts = ClassCounts {
                requests: sum(counted, class.request_metrics()),
                executed: sum(counted, class.executed_metrics()),
                ..ClassCounts::default()
            };
            (class.name, counts)
        });
        let keys = (number, SiteId(0))..=(number, SiteId(u32::MAX));
        for (&(_, site), (all, wide)) in groups.range(keys) {
            let kind = sites.get(site).map_or(2, |site| kind_of(site.op));
            let (_, counts) = &mut classes[kind as usize];
            counts.groups += all;
            counts.wide_groups += wide;
        }
        comparison.launches.push(LaunchComparison {
            stream: launch.stream,
            launch: launch.launch,
            kernel: sites.display_name(&launch.kernel).to_owned(),
            classes: classes.into(),
        });
    }
    Ok(comparison)
}

fn sum(launch: &Profiled, metrics: impl Iterator<Item = String>) -> Option<u64> {
    let known = metrics.filter_map(|metric| *launch.metrics.get(&metric)?);
    known.reduce(|a, b| a + b)
}

/// Groups and wide groups, by launch and site.
type GroupCounts = BTreeMap<(u32, SiteId), (u64, u64)>;

fn groups_by_site(capture: &Capture) -> Result<GroupCounts, TraceError> {
    capture.par_fold(
        GroupCounts::new,
        |counts, record, group| {
            let count = counts.entry((record.number, group.site)).or_default();
            let width = group.width_bytes;
            count.0 += 1;
            count.1 += u64::from(width > 16 || !width.is_power_of_two());
        },
        |mut a, b| {
            for (key, (groups, wide)) in b {
                let count = a.entry(key).or_default();
                *count = (count.0 + groups, count.1 + wide);
            }
            a
        },
    )
}
