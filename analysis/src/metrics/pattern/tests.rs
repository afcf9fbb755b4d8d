//! Tests for `pattern`.

use super::*;
use crate::metrics::tests::{Step, source_of};
use superstep_trace::{Op, SiteTable};

/// Returns the pattern between a launch of `ctas` CTAs that stores `stores` and one that loads `loads` (CTA, word).
fn pattern(ctas: u32, stores: &[(u32, u64)], loads: &[(u32, u64)]) -> PatternRow {
    let step = |kernel, op, accesses: &[(u32, u64)]| Step {
        kernel,
        grid: [ctas, 1, 1],
        accesses: (accesses.iter())
            .map(|&(cta, word)| (cta, op, 0x1000 + 4 * word))
            .collect(),
    };
    let program = [step("f", Op::Store, stores), step("g", Op::Load, loads)];
    let (analysis, grids) = source_of(&program);
    let sites = SiteTable::default();
    let found = rows(&Source::new(&analysis, &grids, &sites));
    let mut found = found.unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn patterns_are_classified_by_the_rules() {
    let own: Vec<(u32, u64)> = (0..8).map(|cta| (cta, u64::from(cta))).collect();
    let pairs = |f: &dyn Fn(u32, u32) -> bool| -> Vec<(u32, u64)> {
        (0..8)
            .flat_map(|a| (0..8).map(move |b| (a, b)))
            .filter(|&(a, b)| f(a, b))
            .map(|(a, b)| (a, u64::from(b)))
            .collect()
    };
    // CTA a loads word b, which CTA b stored.
    let by_words = |f: &dyn Fn(u32, u32) -> bool| pattern(8, &own, &pairs(f));
    assert_eq!(by_words(&|a, b| a == (b + 3) % 8).pattern, "point-to-point");
    let all = by_words(&|_, _| true);
    assert_eq!(
        (all.pattern.as_str(), all.completeness, all.replication),
        ("all-to-all", 1.0, 8.0)
    );
    let stencil = by_words(&|a, b| a.abs_diff(b) <= 1);
    assert_eq!(
        (stencil.pattern.as_str(), stencil.pairs, stencil.max_in),
        ("stencil", 22, 3)
    );
    assert_eq!(by_words(&|_, b| b == 5).pattern, "broadcast");
    assert_eq!(by_words(&|a, b| a == b / 4).pattern, "gather");
    assert_eq!(
        by_words(&|a, b| a * 5 % 8 == b || a * 3 % 8 == b).pattern,
        "irregular"
    );
    // CTA 2 stores eight words, one for each CTA; then each CTA stores one word for each CTA.
    let single: Vec<(u32, u64)> = (0..8).map(|word| (2, word)).collect();
    assert_eq!(pattern(8, &single, &own).pattern, "scatter");
    let table: Vec<(u32, u64)> = (0..64).map(|word| (word as u32 / 8, word)).collect();
    let columns: Vec<(u32, u64)> = (0..64).map(|word| (word as u32 % 8, word)).collect();
    let gather = pattern(8, &table, &columns);
    assert_eq!(
        (gather.pattern.as_str(), gather.replication),
        ("gather", 1.0)
    );
}
