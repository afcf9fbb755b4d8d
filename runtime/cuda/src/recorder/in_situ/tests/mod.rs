//! Compares the device's handlers, compiled for the host, with the CPU backend.

mod device;
mod programs;
mod rules;
