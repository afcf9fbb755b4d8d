//! Sizes of folders.

use std::path::Path;

/// Bytes of all files below `path`. Files that another process removes meanwhile count as 0.
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
