//! Workarounds for PTX that ptxas miscompiles beside a probe.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// `set` with a result in single precision: guard, comparison, type, result, operands.
static SET: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?P<guard>@!?[\w%$]+\s+)?\bset(?P<how>(?:\.\w+)+?)\.f32(?P<of>\.\w+)\s+(?P<result>[^,;{}]+),(?P<operands>[^;{}]+);";
    Regex::new(pattern).expect("the pattern is one")
});

/// Rewrites `set` to single precision. ptxas 12.9.86 takes 1.0 for the integer 1 where the result is used as bits, in a kernel with calls.
pub(crate) fn rewrite_miscompiled(ptx: &str) -> Cow<'_, str> {
    SET.replace_all(ptx, |set: &Captures| {
        let guard = set.name("guard").map_or("", |guard| guard.as_str());
        let (how, of, result) = (&set["how"], &set["of"], set["result"].trim());
        let operands = set["operands"].trim();
        format!(
            "{{ .reg .pred %superstep; setp{how}{of} %superstep, {operands}; \
             {guard}selp.f32 {result}, 0f3F800000, 0f00000000, %superstep; }}"
        )
    })
}

#[cfg(test)]
mod tests;
