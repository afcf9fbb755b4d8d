//! Error injection: a campaign of runs, each of which flips one bit of one result.
//!
//! `profile` runs the program without injecting an error and counts executions, `select` chooses injections from these,
//! `campaign` performs them, `outcome` classifies the results, and `vulnerability` sums them by kernel and line.
//! Injection *i* depends only on the seed and on *i*, and identifies an execution by its thread. Therefore
//! interruptions, the number of parallel runs and the order in which a GPU runs threads do not change the result of a
//! campaign.

mod campaign;
mod outcome;
mod profile;
mod select;
mod vulnerability;

pub use campaign::{Campaign, CampaignOptions};
pub use outcome::{Effect, Outcome, Tally, effect_table, tally};
pub use select::{Choice, Injection, Space};
pub use superstep_build::probe::INJECTION as PROBES;
pub use vulnerability::Vulnerability;
