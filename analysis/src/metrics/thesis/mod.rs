//! The metrics in figures 6.2 to 6.9 of Rieber 2017.

pub mod bisection;
pub mod connectivity;
pub mod degree;
pub mod density;
pub mod distance;
pub mod stride;
pub mod superstep;
pub mod transfer_size;
