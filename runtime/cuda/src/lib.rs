//! The CUDA runtime of a traced program: stands before libcudart, gives each traced kernel its buffer, and writes the
//! accesses that come back into the capture.

mod bins;
#[cfg(test)]
mod bins_tests;
mod groups;
mod layout;
mod record;
#[cfg(test)]
mod test_tools;
