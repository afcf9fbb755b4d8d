//! Sizes as people write them, and of folders.

use std::path::Path;
use std::str::FromStr;

/// A number of bytes, as every option takes it: `2GB`, `512MiB`, `1.5G` or `4096`. Units are powers of 1000, and of 1024 with an
/// `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize {
    pub bytes: u64,
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected a size like 2GB, 512MiB or 4096, found {text:?}");
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, unit) = text.split_at(at.unwrap_or(text.len()));
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "k" | "kb" => 1e3,
            "m" | "mb" => 1e6,
            "g" | "gb" => 1e9,
            "t" | "tb" => 1e12,
            "kib" => 1024.0,
            "mib" => 1024.0 * 1024.0,
            "gib" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(wrong()),
        };
        let bytes = number * factor;
        if !(1.0..1e18).contains(&bytes) {
            return Err(wrong());
        }
        Ok(ByteSize {
            bytes: bytes as u64,
        })
    }
}

/// Bytes of all files below `path`. What another process removes meanwhile counts as nothing.
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

#[cfg(test)]
mod tests {
    use super::ByteSize;

    #[test]
    fn sizes_are_read_and_nonsense_is_refused() {
        let bytes = |text: &str| text.parse::<ByteSize>().map(|size| size.bytes);
        assert_eq!(bytes("2GB"), Ok(2_000_000_000));
        assert_eq!(bytes("1.5 mib"), Ok(3 << 19));
        assert_eq!(bytes("17"), Ok(17));
        for text in ["", "GB", "2 parsecs", "-1", "0", "1e30", "9999999TB"] {
            assert!(bytes(text).unwrap_err().contains("like 2GB"), "{text}");
        }
    }
}
