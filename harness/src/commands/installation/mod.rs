//! Commands that manage this installation.

pub mod cache;
pub mod completions;
pub mod doctor;
pub mod setup;
