//! SHA-256 hashes of files and byte strings, and cache keys.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::{fmt, io};

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde::{Serialize, Serializer};
use sha2::Digest as _;

/// A SHA-256 digest, shown as 64 lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sha256(pub [u8; 32]);

impl Sha256 {
    /// Parses 64 hex digits in upper or lower case; returns `None` for anything else.
    pub fn parse(text: &str) -> Option<Sha256> {
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut digest = [0; 32];
        for (index, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        Some(Sha256(digest))
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.0.iter();
        bytes.try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let expected = "a SHA-256: 64 hex digits, as sha256sum prints them";
        Self::parse(&text).ok_or_else(|| Error::invalid_value(Unexpected::Str(&text), &expected))
    }
}

pub fn hash_bytes(bytes: &[u8]) -> Sha256 {
    Sha256(sha2::Sha256::digest(bytes).into())
}

pub fn hash_file(path: &Path) -> io::Result<Sha256> {
    let mut hasher = sha2::Sha256::new();
    io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(Sha256(hasher.finalize().into()))
}

/// Hashes the parts of a key. Each part is preceded by its length, so that `ab`,`c` and `a`,`bc` differ.
#[derive(Default)]
pub struct KeyHasher(sha2::Sha256);

impl KeyHasher {
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

    /// Adds all words and their count.
    pub fn list(&mut self, words: impl IntoIterator<Item: AsRef<OsStr>>) -> &mut Self {
        let mut count = 0_u64;
        for word in words {
            count += 1;
            self.bytes(word.as_ref().as_encoded_bytes());
        }
        self.bytes(&count.to_le_bytes())
    }

    pub fn finish(self) -> String {
        Sha256(self.0.finalize().into()).to_string()
    }
}

#[cfg(test)]
mod tests;
