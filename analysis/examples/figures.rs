//! Draws figures 6.2 to 6.9 from tables: `cargo run -p superstep-analysis --example figures -- FOLDER TABLES…`, each
//! TABLES a folder of one application.

use std::path::PathBuf;
use superstep_analysis::figures;
use superstep_analysis::metrics::Metrics;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = arguments.next().ok_or("usage: figures FOLDER TABLES…")?;
    let mut read = Vec::new();
    for tables in arguments {
        let name = tables
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        read.push((
            name,
            Metrics::read(&tables)?.ok_or("a folder without tables of metrics")?,
        ));
    }
    let applications: Vec<(&str, &Metrics)> =
        read.iter().map(|(name, m)| (name.as_str(), m)).collect();
    for figure in figures::communication::all(&applications) {
        figures::write(&figure, &folder)?;
    }
    Ok(())
}
