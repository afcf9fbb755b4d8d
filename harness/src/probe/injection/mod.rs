//! Error injection: a campaign of runs, in each of which one bit of one result is flipped.
//!
//! `profile` runs the program without an error and counts, `select` chooses the injections from that with a seed, `campaign` makes them
//! and keeps what came of each, `outcome` says what came of one, and sums up. Injection *i* depends on the seed and on *i* alone, and
//! means an execution by its thread, so that a campaign comes out the same however it is interrupted, however many runs go on at the same
//! time, and in any order in which a GPU runs threads.

mod campaign;
mod outcome;
mod profile;
mod select;

pub use campaign::{Campaign, CampaignOptions, Made};
pub use outcome::{Outcome, Tally, tally, tally_table};
/// The probes of a campaign: the first counts, the second flips a bit.
pub const PROBES: [&str; 2] = ["injection-profile", "injection"];

pub use select::{Choice, Injection, Space};
