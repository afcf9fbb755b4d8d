//! Statements of the thesis (Rieber 2017) about its figures, each judged by a rule over the tables. If a statement
//! does not hold, that is a finding about the statement or the program, never a reason to change a metric.

mod judges;
#[cfg(test)]
mod tests;

use crate::published::{Quantity, Series, data};
use std::borrow::Cow;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::bisection::BisectionRow;
use superstep_table::table;
use superstep_trace::named;

#[derive(Clone, Debug)]
pub struct Program<'a> {
    pub name: &'a str,
    /// Bytes of all loads and atomics.
    pub loaded_bytes: u64,
    /// Bytes of all stores and atomics.
    pub stored_bytes: u64,
    /// Communication share, from 0 to 1.
    pub share: f64,
    pub metrics: Cow<'a, Metrics>,
}

named! {
    #[derive(Default)]
    pub enum Verdict("verdict") {
        Holds => "holds",
        Differs => "differs",
        /// The data that the statement is about was not measured.
        #[default]
        NotMeasurable => "not-measurable",
    }
}

crate::text_column!(Verdict);

table! {
    /// One statement of the thesis about its figures.
    pub struct Claim = "claims": Eq, serde::Deserialize {
        claim: String = "C1 to C15";
        figure: String = "figure of the thesis";
        statement: String = "the thesis's statement, paraphrased";
        #[serde(skip)]
        verdict: Verdict = "holds, differs or not-measurable";
        #[serde(skip)]
        numbers: String = "the rule and the numbers that decide the verdict";
        #[serde(skip)]
        published: String =
            "if it does not hold: whether the published numbers bear it out; empty in runs of other sizes";
    }
}

/// The programs that the statements are about.
pub const PROGRAMS: [&str; 6] = ["hs2d", "hs3d", "hist", "nbody", "path", "bfs"];

/// Judges all statements, or returns an empty list if the run has none of [`PROGRAMS`]. In a run at the published
/// size, statements that do not hold are also judged by the published numbers.
pub fn evaluate(programs: &[Program<'_>], is_published_run: bool) -> Vec<Claim> {
    let find = |name: &&str| programs.iter().find(|program| program.name == *name);
    if !PROGRAMS.iter().any(|name| find(name).is_some()) {
        return Vec::new();
    }
    let all: Option<Vec<&Program<'_>>> = PROGRAMS.iter().map(find).collect();
    let six: Option<judges::Six<'_>> = all.and_then(|all| all.try_into().ok());
    let data = data();
    (data.statements.into_iter().zip(judges::JUDGES))
        .map(|(claim, judge)| {
            let no_strides = |program: &Program<'_>| program.metrics.strides.is_empty();
            let lacks_traces =
                claim.figure == judges::STRIDES_FIGURE && programs.iter().any(no_strides);
            let (verdict, numbers) = match six.as_ref().map(judge) {
                Some(_) if lacks_traces => (Verdict::NotMeasurable, "needs traces".to_owned()),
                Some((true, numbers)) => (Verdict::Holds, numbers),
                Some((false, numbers)) => (Verdict::Differs, numbers),
                None => {
                    let needed = format!("needs all of {}", PROGRAMS.join(", "));
                    (Verdict::NotMeasurable, needed)
                }
            };
            let published = match verdict {
                Verdict::Differs if is_published_run => {
                    judge_published(&claim.figure, judge, &data.series)
                }
                _ => String::new(),
            };
            Claim {
                verdict,
                numbers,
                published,
                ..claim
            }
        })
        .collect()
}

fn judge_published(figure: &str, judge: judges::Judge, series: &[Series]) -> String {
    // The published numbers are sufficient only for the rules about these figures.
    if !["6.1", "6.4"].contains(&figure) {
        return "not judged: the numbers that the rule needs are not published".to_owned();
    }
    let programs = PROGRAMS.map(|name| published(name, series));
    match judge(&programs.each_ref()) {
        (true, numbers) => format!("borne out: {numbers}"),
        (false, numbers) => format!("not borne out: {numbers}"),
    }
}

/// Returns a program with the published numbers that these rules use.
fn published(name: &'static str, series: &[Series]) -> Program<'static> {
    let value = |quantity| {
        let mut series = series.iter();
        let own = series.find(|it| it.program == name && it.quantity == quantity);
        own.map_or(0.0, |it| it.value(0))
    };
    let cut = |quantity| {
        let share = value(quantity) / 100.0;
        BisectionRow {
            share,
            as_published_share: share,
            ..BisectionRow::default()
        }
    };
    Program {
        name,
        loaded_bytes: value(Quantity::Loaded) as u64,
        stored_bytes: value(Quantity::Stored) as u64,
        share: value(Quantity::Communicated) / value(Quantity::Stored),
        metrics: Cow::Owned(Metrics {
            bisection: vec![cut(Quantity::CutXShare), cut(Quantity::CutYShare)],
            ..Metrics::default()
        }),
    }
}
