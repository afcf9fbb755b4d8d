//! Commands that read or create captures.

pub mod analyse;
pub mod dump;
pub mod export;
pub mod import;
pub mod info;
pub mod verify;
