//! Tests for `select`.

use super::*;

fn space(executions: &[u64]) -> Space {
    let mut space = Space::default();
    let mut total = 0;
    for (slot, &executions) in executions.iter().enumerate() {
        space.offsets.push(total);
        total += executions;
        space.rows.push(Row {
            template: Injection::default(),
            slot: slot as u32,
            executions,
            bits: 32,
        });
    }
    space.offsets.push(total);
    space
}

/// Asserts that counts are within three binomial standard deviations of their means.
fn assert_shares(counts: &[u32], shares: &[f64]) {
    let all = f64::from(counts.iter().sum::<u32>());
    for (count, share) in counts.iter().zip(shares) {
        let deviation = (all * share * (1.0 - share)).sqrt();
        assert!(
            (f64::from(*count) - all * share).abs() < 3.0 * deviation,
            "{counts:?}"
        );
    }
}

#[test]
fn instructions_are_chosen_as_often_as_they_are_executed() {
    let space = space(&[100, 300, 600]);
    let mut counts = [0; 3];
    for number in 0..10_000 {
        let choice = space.choose(7, number).unwrap();
        assert!(choice.bit < 32);
        counts[choice.row] += 1;
    }
    assert_shares(&counts, &[0.1, 0.3, 0.6]);
}

#[test]
fn threads_are_chosen_as_often_as_they_execute_the_instruction() {
    let space = space(&[10]);
    let mut threads = [0; 4];
    let mut executions = [0; 7];
    for number in 0..10_000 {
        let choice = space.choose(3, number).unwrap();
        let injection = space.rows[0].injection(&choice, &[0, 7, 1, 2]).unwrap();
        threads[injection.thread as usize] += 1;
        if injection.thread == 1 {
            executions[injection.execution as usize] += 1;
        }
    }
    assert_eq!(threads[0], 0);
    assert_shares(&threads[1..], &[0.7, 0.1, 0.2]);
    assert_shares(&executions, &[1.0 / 7.0; 7]);
    let choice = space.choose(3, 0).unwrap();
    assert_eq!(space.rows[0].injection(&choice, &[0, 0]), None);
}

#[test]
fn places_are_listed_once() {
    let space = space(&[5, 5]);
    let choices: Vec<Choice> = (0..50).filter_map(|n| space.choose(1, n)).collect();
    assert_eq!(
        space.places(&choices),
        BTreeMap::from([(0, BTreeSet::from([0, 1]))])
    );
}

#[test]
fn a_choice_depends_only_on_seed_and_number() {
    let space = space(&[5, 5]);
    assert_eq!(space.choose(1, 9), space.choose(1, 9));
    let differ = (0..50).filter(|&n| space.choose(1, n) != space.choose(2, n));
    assert!(differ.count() > 25);
    let empty = Space {
        rows: vec![],
        offsets: vec![0],
    };
    assert_eq!(empty.choose(1, 0), None);
}
