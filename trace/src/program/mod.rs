//! A traced program: its sites, allocations, launches and accesses.

pub(crate) mod access;
pub(crate) mod allocations;
pub(crate) mod event;
pub(crate) mod ids;
pub mod matrix;
pub(crate) mod names;
pub(crate) mod op;
pub(crate) mod process;
pub(crate) mod table;
