//! Error injection: a campaign of runs, in each of which one bit of one result is flipped (SASSI, case study IV).
//!
//! `select` chooses the injections from a profile with a seed, `campaign` runs them and keeps what came of each, `outcome` says what
//! came of one, and sums up. Injection *i* depends on the seed and on *i* alone, and each run has one worker thread, so that a
//! campaign comes out the same however it is interrupted and however many runs go on at the same time.

mod campaign;
mod outcome;
mod select;

pub use campaign::{Campaign, CampaignOptions};
pub use outcome::{Interval, Outcome, Tally, tally, tally_table};
pub use select::{Injection, Space};
