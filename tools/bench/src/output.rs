//! Lines and tables on the terminal.

use superstep_harness::{plain_table, table_lines};
use superstep_table::Table;

/// Prints a line, and ignores errors such as a closed pipe.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

/// Prints a table. Large numbers are printed in millions (M) or billions (G), fractions with three decimals.
pub fn say_table(table: &Table) {
    let heading = table.columns().map(|column| column.name.replace('_', " "));
    let mut text = plain_table(heading, false);
    for row in 0..table.rows() {
        text.add_row(table.texts(row).into_iter().map(|cell| {
            match cell.as_deref().map(str::parse::<f64>) {
                Some(Ok(value)) if value >= 1e9 => format!("{:.3} G", value / 1e9),
                Some(Ok(value)) if value >= 1e6 => format!("{:.3} M", value / 1e6),
                Some(Ok(value)) if value.fract() != 0.0 => format!("{value:.3}"),
                _ => cell.unwrap_or("-".to_owned()),
            }
        }));
    }
    for line in table_lines(text, 1) {
        say!("{}", line.trim_start());
    }
}
