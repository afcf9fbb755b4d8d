//! What a probe found and what it cost, as a page of its own and as a section of the report of a suite's run.

use super::Study;
use crate::error::Result;
use crate::figures::{self, escape};
use crate::html::{self, Cell, DASH, document, fold, id, references, table_of};
use crate::papers::STUDIES;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use superstep_table::{FileError, Table};

/// Rows of a table on the page at most; the files have all.
const MOST_ROWS: usize = 40;
/// Folder of a run in which its probes' folders lie.
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
    let mut out = String::new();
    let heading = heading(probe);
    let name = format!("Probe {}: {}", escape(probe), escape(title));
    html::section(&mut out, &heading, &name);
    for line in lines {
        let _ = writeln!(out, "<p>{}</p>", escape(line));
    }
    for table in &study.tables {
        rows(&mut out, probe, table);
    }
    for figure in &study.figures {
        let drawing = figures::svg(figure, &format!("{heading}-{}", figure.name))?;
        let _ = writeln!(out, "<h3>{}</h3>", escape(&figure.title));
        html::figure(&mut out, &drawing, figure.description);
    }
    out.push_str("</section>\n");
    Ok(out)
}

/// A table; one that is long stays folded.
fn rows(out: &mut String, probe: &str, own: &Table) {
    let is_long = own.rows() > MOST_ROWS / 2;
    let name = own.name().replace('-', " ");
    if is_long {
        fold(out, &format!("{name}: {} rows", own.rows()), false);
    }
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
    table_of(out, &format!("{name} ({probe})"), &columns, shown);
    if own.rows() > MOST_ROWS {
        let _ = writeln!(
            out,
            "<p>The first {MOST_ROWS} of {} rows; <code>tables/{}.csv</code> has all of them.</p>",
            own.rows(),
            own.name()
        );
    }
    if is_long {
        out.push_str("</details>\n");
    }
}

/// A page with that section and the papers that studies cite.
pub fn page(title: &str, section: &str) -> String {
    let mut main = section.to_owned();
    references(&mut main, &STUDIES);
    document(title, "", &main)
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

#[cfg(test)]
mod tests;
