//! Draws a run again from its tables: `cargo run -p superstep-report --example figures -- RUN`.

use std::path::PathBuf;
use superstep_analysis::tables;
use superstep_report::{RunSummary, page};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let run = std::env::args_os().nth(1).map(PathBuf::from);
    let run = run.ok_or("usage: figures RUN: the folder with run.json and tables")?;
    let summary: RunSummary = tables::read_json(&run.join("run.json"))?;
    println!("{}", page::redraw(&run, &summary)?.display());
    Ok(())
}
