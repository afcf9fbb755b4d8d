//! Fetches sources and data into a content-addressed cache.
//!
//! Layout of the cache: `blobs/<2 digits>/<sha256>` (file contents), `sources/<key>/` (folders assembled from blobs),
//! `git/<key>/` (bare repositories fetched from URLs), `generated/<key>` (hashes of generated inputs),
//! `partial/<sha256>` (interrupted downloads), `locks/` (empty files that processes lock).

mod archive;
mod cache;
mod data;
mod download;
mod error;
mod git;
#[cfg(test)]
mod network_tests;
mod source;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use cache::{Cache, default_cache_dir, hash_file};
pub(crate) use cache::{check_hash, io};
pub use data::Origin;
pub(crate) use data::data_file;
pub use download::DownloadLimits;
pub(crate) use error::FetchError;
pub use source::{SourceFile, SourceTree, sources};
pub use superstep_toolchain::hash_bytes;

#[derive(Debug, Clone, Default)]
pub struct FetchOptions {
    /// A local git repository, bare or not, to use in place of the suite's URL.
    pub source_mirror: Option<PathBuf>,
    /// A local folder to use in place of the suite's data folder.
    pub data_mirror: Option<PathBuf>,
    /// The cache; [`default_cache_dir`] returns the user's own.
    pub cache_dir: PathBuf,
    pub offline: bool,
    pub download: DownloadLimits,
}
