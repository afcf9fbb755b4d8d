//! Results and cost of a probe, as a page of its own and as a section of the report of a suite's run.

use super::Study;
use crate::error::Result;
use crate::figures;
use crate::html::{self, Cell, DASH, document, fold, id, references, table_of};
use crate::papers::STUDIES;
use maud::{Markup, PreEscaped, html};
use std::fs;
use std::path::Path;
use superstep_table::{FileError, Table};

/// Rows of a table on the page at most; the files have all.
pub(super) const MOST_ROWS: usize = 40;
/// Folder of a run with its probes' folders.
pub const FOLDER: &str = "probes";
/// The section in a probe's folder.
pub const SECTION: &str = "section.html";

/// A probe's part of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub probe: String,
    /// A `section` element whose heading has the id [`heading`].
    pub html: String,
}

pub fn heading(probe: &str) -> String {
    id("probe", probe)
}

/// The section. `title` is what the probe measures, `lines` are sentences about the run.
pub fn section(probe: &str, title: &str, lines: &[String], study: &Study) -> Result<String> {
    let heading = heading(probe);
    let content = html! {
        @for line in lines { p { (line) } }
        @for table in &study.tables { (rows(probe, table)) }
        @for figure in &study.figures {
            h3 { (figure.title) }
            @let drawing = figures::svg(figure, &format!("{heading}-{}", figure.name))?;
            (html::figure(PreEscaped(drawing), figure.description))
        }
    };
    let title = format!("Probe {probe}: {title}");
    Ok(html::section(&heading, title, content).into_string())
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

/// A page with that section and the papers that studies cite.
pub fn page(title: &str, section: &str) -> String {
    let main = html! { (PreEscaped(section)) (references(&STUDIES)) };
    document(title, &html! {}, &main)
}

/// The sections of the probes of a run, by name; none where there are none.
pub fn sections(run: &Path) -> Result<Vec<Section>> {
    let Ok(entries) = fs::read_dir(run.join(FOLDER)) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in entries.filter_map(std::result::Result::ok) {
        let path = entry.path().join(SECTION);
        if path.is_file() {
            found.push(Section {
                probe: entry.file_name().to_string_lossy().into_owned(),
                html: fs::read_to_string(&path).map_err(FileError::at("read", &path))?,
            });
        }
    }
    found.sort_by(|a, b| a.probe.cmp(&b.probe));
    Ok(found)
}
