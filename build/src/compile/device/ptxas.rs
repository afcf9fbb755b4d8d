//! Rewrites PTX that ptxas miscompiles in code with a probe.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Matches `set` with a single-precision result.
static SET: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?P<guard>@!?[\w%$]+\s+)?\bset(?P<comparison>(?:\.\w+)+?)\.f32(?P<source>\.\w+)\s+(?P<result>[^,;{}]+),(?P<operands>[^;{}]+);";
    Regex::new(pattern).expect("a valid pattern")
});

/// Rewrites `set` instructions with single-precision results. In a kernel with calls, ptxas 12.9.86 confuses 1.0 with
/// the integer 1 if the result is used as bits.
pub(crate) fn rewrite_miscompiled(ptx: &str) -> Cow<'_, str> {
    SET.replace_all(ptx, |set: &Captures| {
        let guard = set.name("guard").map_or("", |guard| guard.as_str());
        let (comparison, source) = (&set["comparison"], &set["source"]);
        let (result, operands) = (set["result"].trim(), set["operands"].trim());
        format!(
            "{{ .reg .pred %superstep; setp{comparison}{source} %superstep, {operands}; \
             {guard}selp.f32 {result}, 0f3F800000, 0f00000000, %superstep; }}"
        )
    })
}

#[cfg(test)]
mod tests;
