//! What the thesis (Rieber 2017) says its figures show, compared with what was measured: holds, differs or not measurable.
//!
//! Each statement is judged by a rule over the tables; the numbers that decide stand beside the verdict. A statement that
//! differs is a finding about the statement or about the program that was run, never a reason to bend a metric.

mod partners;
mod rules;
mod supersteps;
#[cfg(test)]
mod tests;
mod volumes;

use serde::{Deserialize, Serialize};
use superstep_analysis::metrics::{Metrics, Row, table};
use superstep_analysis::tables::{Column, Table, column};

/// What one application did.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Its name in the manifest.
    pub name: &'a str,
    /// Bytes of all loads and atomics.
    pub loaded_bytes: u64,
    /// Bytes of all stores and atomics.
    pub stored_bytes: u64,
    /// Communication share, from 0 to 1.
    pub share: f64,
    /// Its metrics.
    pub metrics: &'a Metrics,
}

/// How a statement fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As stated.
    Holds,
    /// Not as stated.
    Differs,
    /// A program that it speaks of was not measured.
    NotMeasurable,
}

impl Verdict {
    /// For people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::NotMeasurable => "not measurable",
        }
    }
}

/// A statement and its verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// C1 to C15.
    pub claim: String,
    /// The figure that it is about.
    pub figure: String,
    /// What the thesis says, in our words.
    pub statement: String,
    /// How it fares.
    pub verdict: Verdict,
    /// The rule and the numbers that decide.
    pub numbers: String,
}

impl Row for Claim {
    const TABLE: &'static str = "claims";
    const COLUMNS: &'static [Column] = &[
        column("claim", "", "C1 to C15"),
        column("figure", "", "figure of the thesis"),
        column("statement", "", "what the thesis says, in our words"),
        column("verdict", "", "holds, differs or not-measurable"),
        column("numbers", "", "the rule and the numbers that decide"),
    ];
}

/// The programs that the statements are about.
pub const PROGRAMS: [&str; 6] = ["hs2d", "hs3d", "hist", "nbody", "path", "bfs"];

/// All statements; none where none of their programs is there.
#[must_use]
pub fn evaluate(programs: &[Program<'_>]) -> Vec<Claim> {
    if !programs
        .iter()
        .any(|program| PROGRAMS.contains(&program.name))
    {
        return Vec::new();
    }
    (rules::RULES.iter())
        .map(|rule| {
            let all: Option<Vec<&Program<'_>>> = (PROGRAMS.iter())
                .map(|name| programs.iter().find(|program| program.name == *name))
                .collect();
            let (verdict, numbers) = match all.map(|all| (rule.judge)(&rules::Six::new(&all))) {
                Some((true, numbers)) => (Verdict::Holds, numbers),
                Some((false, numbers)) => (Verdict::Differs, numbers),
                None => (
                    Verdict::NotMeasurable,
                    format!("needs all of {}", PROGRAMS.join(", ")),
                ),
            };
            Claim {
                claim: rule.claim.to_owned(),
                figure: rule.figure.to_owned(),
                statement: rule.statement.to_owned(),
                verdict,
                numbers,
            }
        })
        .collect()
}

/// The statements as a table.
#[must_use]
pub fn claims_table(claims: &[Claim]) -> Table {
    table(claims)
}
