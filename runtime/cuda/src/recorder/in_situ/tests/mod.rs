//! The device's handlers, compiled for the host, against the rules of the CPU backend.

mod device;
mod programs;
mod rules;
