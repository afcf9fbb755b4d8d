//! In-situ runs.

#[path = "../common/mod.rs"]
mod common;
mod in_situ;
mod verify_in_situ;
