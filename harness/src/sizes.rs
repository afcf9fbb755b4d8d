//! Sizes of folders.

use std::path::Path;

/// Returns the bytes of all files below `path`; 0 for files that disappear meanwhile.
pub fn size(path: &Path) -> u64 {
    let Ok(data) = path.symlink_metadata() else {
        return 0;
    };
    if !data.is_dir() {
        return data.len();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}
