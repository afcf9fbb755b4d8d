//! Runs of suites: results, errors, repeats, interruptions and selections.

mod choices;
#[path = "../common/mod.rs"]
mod common;
mod counted_again;
mod end_to_end;
mod errors;
mod interrupted;
mod running;
mod selection;
