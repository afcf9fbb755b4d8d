//! Terminal output of commands.

use std::io::{self, Write};

use serde::Serialize;
use superstep_build::exit_code;
use superstep_build::failure::Failure;

/// Returns the width of the terminal on standard output in characters, or 100 if standard output is not a terminal.
pub fn width() -> usize {
    comfy_table::Table::new().width().map_or(100, usize::from)
}

/// Prints through a buffer; a closed pipe (`| head`) ends the output quietly.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::internal("write to standard output", error))
        }
        _ => Ok(()),
    }
}

pub fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    print(|out| {
        serde_json::to_writer_pretty(&mut *out, document)?;
        writeln!(out)
    })
}

pub fn print_lines(lines: &[String]) -> Result<i32, Failure> {
    print(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    Ok(exit_code::OK)
}
