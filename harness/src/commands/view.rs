//! Opening a capture for commands that read one, and telling what is wrong with it.

use std::io::{self, Write};

pub use crate::capture::open;
use superstep_build::exit_code;
use superstep_build::failure::Failure;
use superstep_trace::Capture;

/// Says on standard error what is missing from the capture, and gives the exit code that goes with it.
pub fn conclude(capture: &Capture) -> i32 {
    if capture.damaged {
        for problem in &capture.problems {
            eprintln!("error: {problem}");
        }
        exit_code::CAPTURE
    } else if capture.complete {
        exit_code::OK
    } else {
        eprintln!("warning: the capture is incomplete; the part that exists was read:");
        for problem in &capture.problems {
            eprintln!("  {problem}");
        }
        exit_code::CAPTURE_INCOMPLETE
    }
}

/// Prints through a buffer; a reader that goes away (`| head`) ends the output quietly.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::internal("write to standard output", error))
        }
        _ => Ok(()),
    }
}

/// Prints lines, and ends well.
pub fn print_lines(lines: &[String]) -> Result<i32, Failure> {
    print(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    Ok(exit_code::OK)
}
