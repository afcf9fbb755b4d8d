//! The source lines with the largest totals, for probes without a study of their own.

use super::{Program, Study, percent, sites_of};
use crate::error::Result;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use superstep_table::{Table, table};
use superstep_trace::SourcePlace;
use superstep_trace::probe::Combine;

table! {
    /// One of the source lines with the largest values of a field in a program.
    struct TotalRow = "largest-totals" {
        program: String = "the program";
        field: String = "the probe's field";
        function: String = "the kernel or device function";
        place: String = "source file and line; empty when unknown";
        value: u64 = "the line's value over all launches, combined as the field specifies";
        percent: Option<f64> ["%"] = "share of the program's sum; only for fields that are sums";
    }
}

/// Number of lines for each field of a program.
pub(super) const MAX_LINES: usize = 10;

pub(super) fn study(programs: &[Program<'_>]) -> Result<Study> {
    let mut rows = Vec::new();
    for program in programs {
        let sites = sites_of(program)?;
        let fields = program.spec().map(|spec| &spec.fields);
        for (index, field) in fields.into_iter().flatten().enumerate() {
            let mut lines: BTreeMap<(&str, &str, u32), u64> = BTreeMap::new();
            for row in &sites.sites {
                let line = (&*row.function, &*row.site.file, row.site.line);
                let value = lines.entry(line).or_insert_with(|| field.start());
                *value = field.join(*value, row.fields[index]);
            }
            lines.retain(|_, value| *value != field.start());
            let all = (field.combine == Combine::Sum).then(|| sites.sum(index));
            let mut lines: Vec<_> = lines.into_iter().collect();
            lines.sort_by_key(|(_, value)| Reverse(*value));
            let largest = lines.into_iter().take(MAX_LINES);
            rows.extend(largest.map(|((function, file, line), value)| TotalRow {
                program: program.name.to_owned(),
                field: field.name.clone(),
                function: function.to_owned(),
                place: place(file, line),
                value,
                percent: all.map(|all| percent(value, all)),
            }));
        }
    }
    Ok(Study {
        tables: vec![Table::of(&rows)],
        ..Study::default()
    })
}

/// Returns `file:line`, with only the last part of the path.
pub fn place(file: &str, line: u32) -> String {
    let (file, column) = (file.to_owned(), 0);
    match line {
        0 => file,
        _ => SourcePlace { file, line, column }.to_string(),
    }
}
