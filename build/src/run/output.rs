//! Copies a program's output into a file, up to a limit.

use std::fs::File;
use std::io::{self, Read, Write};

/// Copies `from` into `to` until `from` ends, keeping the first `limit_bytes`. What comes after them is read and dropped, so that
/// the program never waits for a full pipe. Returns whether anything was dropped.
///
/// # Errors
/// Reading or writing failed; the rest of `from` is then left unread.
pub(super) fn copy(mut from: impl Read, mut to: File, limit_bytes: u64) -> io::Result<bool> {
    let mut left = limit_bytes;
    let mut truncated = false;
    let mut buffer = [0; 1 << 14];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let kept = usize::try_from(left).unwrap_or(usize::MAX).min(read);
        to.write_all(&buffer[..kept])?;
        left -= kept as u64;
        truncated |= kept < read;
    }
    Ok(truncated)
}

#[cfg(test)]
mod tests {
    use super::copy;

    #[test]
    fn keeps_the_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let open = || std::fs::File::create(&path).unwrap();
        assert!(!copy(&b"12345"[..], open(), 5).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"12345");
        assert!(copy(&b"12345"[..], open(), 4).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"1234");
    }
}
