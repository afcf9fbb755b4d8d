//! User-defined probes: their definition, their sites and their results.
//!
//! [`spec`] is the definition, [`sites`] the instrumenter's record of it, and [`results`] a probed run's output.

pub mod results;
pub mod sites;
pub mod spec;

pub use results::{LaunchResult, Part, ProbeResults, ProbeWriter, UnitStatistics};
pub use sites::{DefinedProbe, KernelSlots, NATIVE_SUFFIX, PointSite};
pub use spec::{
    At, Combine, Field, FieldsIn, OncePer, Pass, Per, Point, ProbeSpec, TableSpec, When, Word,
};
