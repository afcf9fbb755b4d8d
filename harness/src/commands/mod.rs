//! One file for each command; what several of them share is in `common` and `view`.

pub mod bench;
pub mod bench_analysis;
pub mod bench_cpu;
pub mod bundle;
pub mod cache;
pub mod codec;
pub mod common;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod dump;
pub mod explain;
pub mod export;
pub mod import;
pub mod info;
pub mod program;
pub mod record;
pub mod report;
pub mod run_bundle;
pub mod running;
pub mod slowdown;
pub mod source;
pub mod stress;
pub mod suite;
pub mod verify;
pub mod view;
