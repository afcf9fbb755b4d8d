//! Reads `memtrace-v1`, record by record.

use super::{RECORD_BYTES, Record};
use crate::error::{Result, TraceError};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Limit on the length of a kernel's name; longer ones count as damage.
const MAX_NAME_BYTES: usize = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Launch(String),
    Access(Record),
    End,
}

/// Iterates over the items of a file, up to the first error.
pub struct Reader<R> {
    input: R,
    path: PathBuf,
    offset: u64,
    in_launch: bool,
    ended: bool,
}

impl Reader<BufReader<File>> {
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(TraceError::unreadable(path))?;
        Self::new(BufReader::with_capacity(1 << 20, file), path)
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads from `input`; error messages refer to it as `path`.
    pub fn new(input: R, path: impl Into<PathBuf>) -> Result<Self> {
        let mut reader = Reader {
            input,
            path: path.into(),
            offset: 0,
            in_launch: false,
            ended: false,
        };
        let mut size = [0];
        if reader.fill(&mut size)? == 0 {
            let reason = "the file is empty; expected the record size, a byte with the value 24";
            return Err(reader.damaged(reason));
        }
        if usize::from(size[0]) != RECORD_BYTES {
            let found = size[0];
            return Err(reader.damaged(format!(
                "expected 24-byte records, found {found}; this is not memtrace-v1"
            )));
        }
        if reader.peek()? == Some(b'\n') {
            reader.input.consume(1);
            reader.offset += 1;
        }
        Ok(reader)
    }

    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn item(&mut self) -> Result<Option<Item>> {
        if !self.in_launch {
            return Ok(self.name()?.map(Item::Launch));
        }
        let start = self.offset;
        let mut bytes = [0; RECORD_BYTES];
        let found = self.fill(&mut bytes)?;
        if found < RECORD_BYTES {
            self.offset = start;
            return Err(self.damaged(format!(
                "the file ends inside a launch, {found} bytes into a record"
            )));
        }
        if bytes == [0; RECORD_BYTES] {
            self.in_launch = false;
            return Ok(Some(Item::End));
        }
        match Record::from_bytes(&bytes) {
            Some(record) => Ok(Some(Item::Access(record))),
            None => {
                self.offset = start;
                Err(self.damaged(format!(
                    "the record's type is {}, expected 1 to 13",
                    bytes[19] >> 4
                )))
            }
        }
    }

    fn name(&mut self) -> Result<Option<String>> {
        if self.peek()?.is_none() {
            return Ok(None);
        }
        let mut name = Vec::new();
        let limited = (&mut self.input).take(MAX_NAME_BYTES as u64);
        let read = { limited }
            .read_until(b'\n', &mut name)
            .map_err(TraceError::unreadable(&self.path))?;
        if name.pop() != Some(b'\n') {
            return Err(self.damaged("expected a kernel's name and LF, found no LF"));
        }
        match String::from_utf8(name) {
            Ok(name) if !name.is_empty() && !name.chars().any(char::is_control) => {
                self.offset += read as u64;
                self.in_launch = true;
                Ok(Some(name))
            }
            _ => Err(self.damaged("expected a kernel's name, found bytes that are not text")),
        }
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            match self.input.fill_buf() {
                Ok(bytes) => return Ok(bytes.first().copied()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::unreadable(&self.path)(error)),
            }
        }
    }

    /// Reads until `out` is full or the input ends; returns the number of bytes read.
    fn fill(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            match self.input.read(&mut out[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::unreadable(&self.path)(error)),
            }
        }
        self.offset += filled as u64;
        Ok(filled)
    }

    fn damaged(&self, reason: impl Into<String>) -> TraceError {
        TraceError::damaged(&self.path, self.offset, reason)
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Item>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.item().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}
