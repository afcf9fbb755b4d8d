//! The `superstep` command: see `superstep help`.

fn main() {}
