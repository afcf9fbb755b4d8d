//! The thesis' file format `memtrace-v1`.
