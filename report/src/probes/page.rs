//! The page of a probe's results and cost.

use super::Study;
use crate::error::Result;
use crate::figures;
use crate::html::{self, Cell, DASH, document, fold, id, references, table_of};
use crate::papers::STUDIES;
use maud::{Markup, html};
use superstep_table::Table;

/// Maximum number of rows of a table on the page; the files have all of them.
pub(super) const MOST_ROWS: usize = 40;

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
        @for table in &study.tables { (rows(probe, table)) }
        @for figure in &study.figures {
            @let drawing = figures::markup(figure, &format!("{heading}-{}", figure.name))?;
            (html::figure(drawing, figure.description))
        }
    };
    let main = html! {
        (html::section(&heading, format!("Probe {probe}: {what}"), content))
        (references(&STUDIES))
    };
    Ok(document(title, &html! {}, &main))
}

fn rows(probe: &str, own: &Table) -> Markup {
    let name = own.name().replace('-', " ");
    let columns: Vec<(String, bool)> = (own.columns())
        .map(|column| {
            let name = column.name.replace('_', " ");
            let name = match column.unit {
                "" => name,
                unit => format!("{name}, {unit}"),
            };
            (name, column.is_number)
        })
        .collect();
    let shown = (0..own.rows().min(MOST_ROWS)).map(|row| {
        let cells = own.texts(row).into_iter().zip(&columns);
        let cells = cells.map(|(text, (_, is_number))| match text {
            Some(text) if !is_number => Cell::Text(text),
            text => Cell::Number(text.unwrap_or(DASH.to_owned())),
        });
        cells.collect()
    });
    let table = html! {
        (table_of(&format!("{name} ({probe})"), &columns, shown))
        @if own.rows() > MOST_ROWS {
            p {
                "The first " (MOST_ROWS) " of " (own.rows()) " rows; "
                code { "tables/" (own.name()) ".csv" } " has all of them."
            }
        }
    };
    if own.rows() > MOST_ROWS / 2 {
        fold(&format!("{name}: {} rows", own.rows()), false, table)
    } else {
        table
    }
}
