//! SASSI's results for programs of Rodinia, next to those measured.

use crate::papers::RODINIA;
use std::collections::BTreeMap;
use superstep_table::table;

table! {
    /// A number of one program, and the same number from the paper.
    pub struct PublishedRow = "published" {
        program: String = "the program";
        quantity: &'static str = "column of the first table, or of `overheads`";
        measured: Option<f64> = "its value here";
        published: f64 = "its value in SASSI's table 1 (branches), 2 (values) or 3 (overheads)";
    }
}

/// Returns the rows of the programs that have published numbers.
pub(super) fn beside<'a, const N: usize>(
    (suite, numbers): (&str, &BTreeMap<String, [f64; N]>),
    quantities: [&'static str; N],
    programs: impl IntoIterator<Item = (&'a str, [Option<f64>; N])>,
) -> Vec<PublishedRow> {
    let programs = programs.into_iter().filter(|_| suite == RODINIA);
    let rows = programs.flat_map(|(program, measured)| {
        let published = numbers.get(program).into_iter().flatten();
        let both = quantities.into_iter().zip(measured).zip(published);
        both.map(move |((quantity, measured), &published)| PublishedRow {
            program: program.to_owned(),
            quantity,
            measured,
            published,
        })
    });
    rows.collect()
}
