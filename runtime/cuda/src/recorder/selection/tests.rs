//! Tests for `selection`.

use super::*;
use std::fmt::Write;
use superstep_trace::CtaRange;

/// The device's header, compiled for the host, selects the same CTAs as the library.
#[test]
fn host_and_device_select_the_same_ctas() {
    let mut selections = Vec::new();
    for (unit, rate, seed, ranges) in [
        (SampleUnit::Ctas, "0.5", 42, ""),
        (SampleUnit::Ctas, "0.01", 7, "0-500,900"),
        (SampleUnit::Ctas, "1", 0, "3-4"),
        (SampleUnit::Ctas, "0.2", u64::MAX, ""),
        (SampleUnit::Launches, "0.001", 1, "0-7"),
    ] {
        selections.push(Selection {
            ctas: match ranges {
                "" => Vec::new(),
                ranges => CtaRange::parse_list(ranges).expect("a list"),
            },
            sample: Some(Sample::parse(unit, rate, seed).expect("a rate")),
            ..Selection::default()
        });
    }
    let mut source =
        String::from("#include \"selection.h\"\n#include <stdio.h>\nint main(void) {\n");
    let mut expected = String::new();
    for selection in &selections {
        let words: Vec<_> = words(selection)
            .iter()
            .map(|word| format!("{word}ull"))
            .collect();
        let _ = writeln!(source, "{{ const uint64_t w[] = {{{}}};", words.join(", "));
        for ctas in [1u64, 8, 9, 100, 1000, 5000] {
            let _ = writeln!(
                source,
                "for (uint64_t c = 0; c < {ctas}; ++c) putchar('0' + superstep_takes_cta(w, {ctas}, c));"
            );
            expected.extend((0..ctas).map(|cta| {
                if selection.takes_cta(ctas, cta) {
                    '1'
                } else {
                    '0'
                }
            }));
        }
        source.push_str("}\n");
    }
    source.push_str("}\n");
    let Some(found) = crate::tests::run_c(&source) else {
        return;
    };
    assert!(found == expected, "host and device differ");
    assert!(expected.contains('0') && expected.contains('1'));
}
