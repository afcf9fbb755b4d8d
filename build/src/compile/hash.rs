//! Content hashes: what a cached step is found by. Every file is read once a process; its hash is kept by path, size and time.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

/// Collects the parts of a key. Each part is stored with its length, so that `ab`,`c` and `a`,`bc` differ.
#[derive(Default)]
pub struct KeyHasher(Sha256);

impl KeyHasher {
    /// An empty key for a step called `name`.
    pub fn new(name: &str) -> Self {
        let mut hasher = Self::default();
        hasher.text(name);
        hasher
    }

    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// The key: 64 hexadecimal digits.
    pub fn finish(self) -> String {
        hex(self.0)
    }
}

/// Size and time of change of each file, and its hash.
type Known = HashMap<PathBuf, ((u64, Option<SystemTime>), String)>;

/// SHA-256 of a file's content, hexadecimal. A file that kept its size and modification time is not read again.
pub fn of_file(path: &Path) -> io::Result<String> {
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    let metadata = fs::metadata(path)?;
    let stamp = (metadata.len(), metadata.modified().ok());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((then, hash)) = known().get(path)
        && *then == stamp
    {
        return Ok(hash.clone());
    }
    let mut hasher = Sha256::new();
    io::copy(&mut fs::File::open(path)?, &mut hasher)?;
    let hash = hex(hasher);
    known().insert(path.to_owned(), (stamp, hash.clone()));
    Ok(hash)
}

fn hex(hasher: Sha256) -> String {
    crate::manifest::Sha256(hasher.finalize().into()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        let key = |parts: &[&str]| {
            let mut hasher = KeyHasher::new("step");
            for part in parts {
                hasher.text(part);
            }
            hasher.finish()
        };
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
        assert_eq!(key(&[]).len(), 64);
    }

    #[test]
    fn a_changed_file_has_another_hash() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "one").unwrap();
        let first = of_file(&file).unwrap();
        assert_eq!(first, crate::fetch::hash_bytes(b"one").to_string());
        fs::write(&file, "three").unwrap();
        assert_ne!(first, of_file(&file).unwrap());
    }
}
