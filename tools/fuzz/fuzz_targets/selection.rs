//! Parses patterns and the other parts of a selection, and compares globs with a simple matcher.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use superstep_trace::{Chooser, CtaRange, Pattern, Sample, SampleUnit, Selection};

#[derive(Arbitrary, Debug)]
struct Input {
    pattern: String,
    name: String,
    list: String,
    ctas: String,
    rate: String,
    by_cta: bool,
    seed: u64,
    skip: u64,
    count: Option<u64>,
    grid: u64,
    cta: u64,
}

/// Matches a glob in quadratic time, with a row of flags for each character.
fn glob_matches(glob: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for wanted in glob.chars() {
        let mut next = vec![false; name.len() + 1];
        for at in 0..=name.len() {
            next[at] = match wanted {
                '*' => reached[at] || at > 0 && next[at - 1],
                _ => at > 0 && reached[at - 1] && (wanted == '?' || wanted == name[at - 1]),
            };
        }
        reached = next;
    }
    reached[name.len()]
}

fuzz_target!(|input: Input| {
    let pattern: Result<Pattern, _> = input.pattern.parse();
    if let Ok(pattern) = &pattern {
        let matches = pattern.matches(&input.name);
        if !input.pattern.starts_with("regex:") {
            assert_eq!(matches, glob_matches(&input.pattern, &input.name));
        }
        assert_eq!(pattern.to_string().parse().as_ref(), Ok(pattern));
    }
    if let Ok(patterns) = Pattern::parse_list(&input.list) {
        for pattern in patterns {
            pattern.matches_function(&input.name, &input.pattern);
        }
    }
    let unit = if input.by_cta {
        SampleUnit::Ctas
    } else {
        SampleUnit::Launches
    };
    let selection = Selection {
        kernel: pattern.ok(),
        launch_skip: input.skip,
        launch_count: input.count,
        ctas: CtaRange::parse_list(&input.ctas).unwrap_or_default(),
        sample: Sample::parse(unit, &input.rate, input.seed).ok(),
    };
    let json = serde_json::to_string(&selection).expect("a selection is plain data");
    assert_eq!(
        serde_json::from_str::<Selection>(&json).expect(&json),
        selection
    );
    let mut chooser = Chooser::new(&selection);
    for _ in 0..3 {
        chooser.next(&input.name, || Some(input.list.clone()));
    }
    selection.takes_cta(input.grid, input.cta);
});
