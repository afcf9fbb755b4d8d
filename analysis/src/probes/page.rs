//! The page of a probed run: what the probe cost, what it found, and its figures.

use super::Study;
use crate::error::Result;
use crate::figures::{self, escape};
use crate::tables::Table;
use std::fmt::Write as _;

const STYLE: &str = include_str!("../report/style.css");
/// Rows of a table on the page at most; the files have all.
const MOST_ROWS: usize = 40;

/// The page. `lines` are sentences about the run; `overheads` is the table of what the probe cost, as text.
///
/// # Errors
/// A figure cannot be drawn.
pub fn page(title: &str, lines: &[String], overheads: &str, study: &Study) -> Result<String> {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Superstep: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n",
        title = escape(title)
    );
    for line in lines {
        let _ = writeln!(out, "<p>{}</p>", escape(line));
    }
    let _ = writeln!(
        out,
        "<h2>What it costs</h2>\n<pre>{}</pre>",
        escape(overheads)
    );
    for table in &study.tables {
        section(&mut out, table);
    }
    for figure in &study.figures {
        let _ = writeln!(
            out,
            "<h2>{}</h2>\n<figure>{}</figure>",
            escape(&figure.title),
            figures::svg(figure)?
        );
    }
    out.push_str("</main>\n</body>\n</html>\n");
    Ok(out)
}

fn section(out: &mut String, table: &Table) {
    let _ = writeln!(out, "<h2>{}</h2>\n<table>\n<thead><tr>", escape(table.name));
    for column in &table.columns {
        let unit = match column.unit {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        let _ = write!(
            out,
            "<th scope=\"col\" title=\"{}\">{}{}</th>",
            escape(column.note),
            escape(&column.name.replace('_', " ")),
            escape(&unit)
        );
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in table.rows.iter().take(MOST_ROWS) {
        out.push_str("<tr>");
        for value in row {
            let text = match value {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let _ = write!(out, "<td>{}</td>", escape(&text));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n");
    if table.rows.len() > MOST_ROWS {
        let _ = writeln!(
            out,
            "<p>The first {MOST_ROWS} of {} rows; tables/{}.csv has all.</p>",
            table.rows.len(),
            table.name
        );
    }
}
