//! Tests for `merge`.

use super::*;
use proptest::prelude::*;

impl LogEntry {
    pub const fn new(site: u32, width_bytes: u32, address: u64) -> Self {
        LogEntry {
            width_and_site: (width_bytes as u64) << 32 | site as u64,
            address,
        }
    }
}

fn merge(logs: &[Vec<LogEntry>]) -> Vec<AccessGroup> {
    let mut lanes: [&[LogEntry]; LANES] = [&[]; LANES];
    for (lane, log) in lanes.iter_mut().zip(logs) {
        *lane = log;
    }
    let mut groups = Vec::new();
    merge_warp(&lanes, &mut AccessGroup::EMPTY.clone(), |group| {
        groups.push(*group)
    });
    groups
}

/// Returns each lane's accesses, read back from the groups.
fn split(groups: &[AccessGroup]) -> Vec<Vec<LogEntry>> {
    let mut lanes = vec![Vec::new(); LANES];
    for group in groups {
        for (thread, address) in group.threads() {
            lanes[thread as usize].push(LogEntry::new(group.site.0, group.width_bytes, address));
        }
    }
    lanes
}

#[test]
fn lanes_reconverge_after_a_branch() {
    // if (lane < 2) site 1; else site 2; then site 3 together
    let log = |lane: u64| {
        let branch = if lane < 2 { 1 } else { 2 };
        vec![
            LogEntry::new(branch, 4, lane),
            LogEntry::new(3, 8, 100 + lane),
        ]
    };
    let groups = merge(&(0..4).map(log).collect::<Vec<_>>());
    let summary: Vec<_> = groups
        .iter()
        .map(|group| (group.site.0, group.mask, group.width_bytes))
        .collect();
    assert_eq!(summary, [(1, 0b0011, 4), (2, 0b1100, 4), (3, 0b1111, 8)]);
    assert_eq!(groups[2].active_addresses(), [100, 101, 102, 103]);
}

#[test]
fn each_width_of_a_site_has_its_own_group() {
    let groups = merge(&[
        vec![LogEntry::new(5, 16, 1)],
        vec![LogEntry::new(5, 4, 2)],
        vec![LogEntry::new(5, 16, 3)],
    ]);
    let summary: Vec<_> = groups
        .iter()
        .map(|group| (group.mask, group.width_bytes))
        .collect();
    assert_eq!(summary, [(0b010, 4), (0b101, 16)]);
}

proptest! {
    /// Groups contain each thread's accesses in order, and no others.
    #[test]
    fn each_threads_accesses_are_kept_in_order(
        logs in prop::collection::vec(prop::collection::vec((0u32..6, prop::sample::select(vec![4u32, 8]), any::<u64>()), 0..20), 0..=LANES)
    ) {
        let logs: Vec<Vec<LogEntry>> = logs
            .into_iter()
            .map(|log| log.into_iter().map(|(site, width, address)| LogEntry::new(site, width, address)).collect())
            .collect();
        let mut expected = logs.clone();
        expected.resize(LANES, Vec::new());
        let groups = merge(&logs);
        prop_assert!(groups.iter().all(|group| group.mask != 0));
        prop_assert_eq!(split(&groups), expected);
    }

    /// Lanes that execute the same accesses are grouped as in lockstep execution.
    #[test]
    fn uniform_code_is_grouped_in_lockstep(sites in prop::collection::vec(0u32..50, 0..60), lanes in 1..=LANES) {
        let logs: Vec<Vec<LogEntry>> = (0..lanes)
            .map(|lane| {
                sites.iter().enumerate().map(|(i, &site)| LogEntry::new(site, 4, (i * 1000 + lane) as u64)).collect()
            })
            .collect();
        let groups = merge(&logs);
        prop_assert_eq!(groups.len(), sites.len());
        for (i, (group, &site)) in groups.iter().zip(&sites).enumerate() {
            prop_assert_eq!(group.site, SiteId(site));
            prop_assert_eq!(group.lanes(), lanes);
            let expected: Vec<u64> = (0..lanes).map(|lane| (i * 1000 + lane) as u64).collect();
            prop_assert_eq!(group.active_addresses(), &expected[..]);
        }
    }

    /// Lanes execute a loop with a branch for different numbers of iterations; groups match those of lockstep
    /// execution.
    #[test]
    fn structured_control_flow_is_grouped_as_on_hardware(turns in prop::collection::vec(0u64..6, LANES), branch in any::<u32>()) {
        let logs: Vec<Vec<LogEntry>> = turns
            .iter()
            .enumerate()
            .map(|(lane, &turns)| {
                let mut log = vec![LogEntry::new(0, 4, lane as u64)];
                for turn in 0..turns {
                    if branch >> lane & 1 == 1 {
                        log.push(LogEntry::new(1, 4, turn));
                    }
                    log.push(LogEntry::new(2, 4, turn));
                }
                log.push(LogEntry::new(3, 4, lane as u64));
                log
            })
            .collect();
        let mut expected = vec![(0, u32::MAX)];
        for turn in 0..6 {
            let looping = turns.iter().enumerate().filter(|&(_, &turns)| turns > turn).fold(0u32, |mask, (lane, _)| mask | 1 << lane);
            expected.extend([(1, looping & branch), (2, looping)].into_iter().filter(|&(_, mask)| mask != 0));
        }
        expected.push((3, u32::MAX));
        let groups: Vec<(u32, u32)> = merge(&logs).iter().map(|group| (group.site.0, group.mask)).collect();
        prop_assert_eq!(groups, expected);
    }
}
