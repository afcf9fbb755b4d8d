//! Placeholder bench, filled in with the codec.
fn main() {}
