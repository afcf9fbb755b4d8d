//! Placeholder until the room is built.
fn main() {}
