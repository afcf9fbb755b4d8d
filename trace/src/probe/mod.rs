//! Probes that a user defines: what they are, where they went in, and what they found.
//!
//! [`spec`] is the definition, [`sites`] what the instrumenter did with it, [`results`] the folder that a probed run leaves.

pub mod results;
pub mod sites;
pub mod spec;

pub use results::{LaunchResult, Part, ProbeResults, ProbeWriter, UnitStatistics};
pub use sites::{DefinedProbe, KernelSlots, NATIVE_SUFFIX, PointSite};
pub use spec::{
    At, Combine, Field, FieldsIn, OncePer, Pass, Per, Point, ProbeSpec, TableSpec, When, Word,
};
