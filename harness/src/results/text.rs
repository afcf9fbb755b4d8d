//! Tables and numbers for a terminal.

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};

/// A table without borders.
pub fn plain_table<T: ToString>(header: impl IntoIterator<Item = T>, color: bool) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    if color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let bold = |title: T| Cell::new(title).add_attribute(Attribute::Bold);
    table.set_header(header.into_iter().map(bold));
    table
}

/// The lines of a table, aligned to the right after the first `left` columns.
pub fn table_lines(mut table: Table, left: usize) -> Vec<String> {
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines = table.lines();
    lines.map(|line| line.trim_end().to_owned()).collect()
}

pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = ratios.into_iter().map(f64::ln).collect();
    let sum: f64 = logarithms.iter().sum();
    (!logarithms.is_empty()).then(|| (sum / logarithms.len() as f64).exp())
}
