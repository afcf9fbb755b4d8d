//! The page with a probe's results and cost.

use super::Study;
use crate::error::Result;
use crate::figures;
use crate::html::{Cell, DASH, description_list, document, first_of, fold, id, section, table};
use crate::papers::STUDIES;
use maud::{Markup, html};
use superstep_table::Table;

/// Maximum number of rows of a table on the page; the files contain all rows.
pub(super) const MAX_ROWS: usize = 40;

/// Renders the page of a probe. `what` is the measured quantity; `lines` are sentences about the run.
pub fn page(
    title: &str,
    (probe, what): (&str, &str),
    lines: &[String],
    study: &Study,
) -> Result<String> {
    let heading = id("probe", probe);
    let content = html! {
        @for line in lines { p { (line) } }
        @for (index, table) in study.tables.iter().enumerate() { (rows(table, index == 0)) }
        @for figure in &study.figures {
            (figures::markup(figure, &format!("{heading}-{}", figure.name))?)
        }
    };
    let main = html! {
        (section(&heading, what, &content))
        @if study.reproduces_paper { (section("references", "References", &description_list(&STUDIES))) }
    };
    Ok(document(title, &html! {}, &main))
}

fn rows(data: &Table, is_first: bool) -> Markup {
    let name = data.name().replace('-', " ");
    let shown = (0..data.rows().min(MAX_ROWS)).map(|row| {
        let cells = data.columns().zip(data.texts(row)).map(|(column, text)| {
            let cell = match text {
                Some(text) if !column.is_number => Cell::Text(text),
                text => Cell::Number(text.unwrap_or(DASH.to_owned())),
            };
            (heading(column.name, column.unit), cell)
        });
        cells.collect::<Vec<_>>()
    });
    let file = format!("{}.csv", data.name());
    let table = html! {
        (table(&name, shown))
        (first_of(MAX_ROWS, data.rows(), &file))
    };
    match data.rows() > MAX_ROWS / 2 {
        true => fold(&format!("{name}: {} rows", data.rows()), is_first, table),
        false => table,
    }
}

/// Returns the name of a column in words, followed by its unit, which is not repeated if the name ends with it.
fn heading(name: &str, unit: &str) -> String {
    let suffix = if unit == "%" { "percent" } else { unit };
    let name = name.strip_suffix(suffix).unwrap_or(name);
    let name = name.trim_end_matches('_').replace('_', " ");
    match (unit, &*name) {
        ("", _) => name,
        (unit, "" | "count") => unit.to_owned(),
        (unit, _) => format!("{name}, {unit}"),
    }
}
