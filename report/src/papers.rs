//! Cited works, by their short names in figures and tables, and published results for comparison.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The thesis: its short name, and its citation.
pub(crate) const RIEBER: (&str, &str) = (
    "Rieber 2017",
    "“The thesis”: D. S. Rieber, Characterization of GPU Communication: A Scientific Exploration, Heidelberg University, 2017",
);

/// Papers whose results the probe studies reproduce.
pub(crate) const STUDIES: [(&str, &str); 2] = [
    (
        "SASSI",
        "M. Stephenson, S. K. S. Hari, Y. Lee, E. Ebrahimi, D. R. Johnson, D. Nellans, M. O’Connor and S. W. Keckler, \
         Flexible Software Profiling of GPU Architectures, ISCA 2015",
    ),
    (
        "GPU Ocelot",
        "N. Farooqui, A. Kerr, G. Diamos, S. Yalamanchili and K. Schwan, \
         A Framework for Dynamically Instrumenting GPU Compute Applications within GPU Ocelot, GPGPU-4, 2011",
    ),
];

/// The suite of programs with published numbers.
pub const RODINIA: &str = "rodinia";

/// Published numbers, described in `published.json`.
#[derive(Deserialize)]
pub struct Rodinia {
    /// SASSI's numbers for each probe.
    pub(crate) sassi: BTreeMap<String, Numbers>,
    pub cpu: Vec<CpuTime>,
}

/// Published numbers by program and column of a study's tables.
pub(crate) type Numbers = BTreeMap<String, BTreeMap<String, f64>>;

/// Kernel time of a program on a processor.
#[derive(Deserialize)]
pub struct CpuTime {
    pub program: String,
    pub problem: String,
    pub ms: f64,
    pub by: String,
}

pub fn rodinia() -> Rodinia {
    let data = include_str!("../../suites/rodinia/published.json");
    serde_json::from_str(data).expect("published.json must be valid")
}

/// The size in Rodinia's manifests that matches the published times.
pub const CPU_SIZE: &str = "published";
/// The Rodinia program whose tracing is measured, and its size.
pub const CPU_TRACED: (&str, &str) = ("hotspot3D", "thesis");
/// The best published time of an empty launch with synchronisation, in microseconds.
pub const CPU_EMPTY_LAUNCH_US: f64 = 4.0;
