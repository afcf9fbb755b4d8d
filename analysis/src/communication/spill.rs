//! Files that hold for a while what the memory limit has no room for.

use crate::error::{AnalysisError, Result};
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// A folder of temporary files; it is made when it is first needed and removed with the analysis.
#[derive(Debug)]
pub(crate) struct SpillFolder {
    parent: PathBuf,
    made: Mutex<Option<TempDir>>,
}

impl SpillFolder {
    /// A folder that will be made in `parent`.
    pub(crate) fn new(parent: PathBuf) -> Self {
        Self {
            parent,
            made: Mutex::new(None),
        }
    }

    /// Path of the file `name` in the folder.
    pub(crate) fn file(&self, name: &str) -> Result<PathBuf> {
        let mut made = match self.made.lock() {
            Ok(made) => made,
            Err(poisoned) => poisoned.into_inner(),
        };
        if made.is_none() {
            let folder = tempfile::Builder::new()
                .prefix(".superstep-analysis-")
                .tempdir_in(&self.parent)
                .map_err(failed(&self.parent))?;
            *made = Some(folder);
        }
        let folder = made.as_ref().map_or(self.parent.as_path(), TempDir::path);
        Ok(folder.join(name))
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> AnalysisError {
    let path = path.to_owned();
    move |source| AnalysisError::Spill { path, source }
}

/// Something of a fixed size that can be written to a file.
pub(crate) trait Fixed: Copy {
    /// Its size in a file.
    const BYTES: usize;
    /// Fills `bytes`, which are [`Fixed::BYTES`] long.
    fn put(&self, bytes: &mut [u8]);
    /// The inverse.
    fn get(bytes: &[u8]) -> Self;
}

/// The little-endian number at `at`.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// The little-endian number at `at`.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Items of a piece that is turned into bytes at once.
const PIECE: usize = 4096;

/// Hands `items` as bytes to `write`, piece by piece; `bytes` is scratch memory.
fn put_all<T: Fixed>(
    items: &[T],
    bytes: &mut Vec<u8>,
    mut write: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let most = PIECE.min(items.len()) * T::BYTES;
    if bytes.len() < most {
        bytes.resize(most, 0);
    }
    for piece in items.chunks(PIECE) {
        let used = &mut bytes[..piece.len() * T::BYTES];
        for (item, slot) in piece.iter().zip(used.chunks_exact_mut(T::BYTES)) {
            item.put(slot);
        }
        write(used)?;
    }
    Ok(())
}

/// A file of items that grows, and whose parts are read from anywhere.
#[derive(Debug)]
pub(crate) struct SpillFile {
    file: File,
    path: PathBuf,
    items: u64,
}

impl SpillFile {
    /// An empty file.
    pub(crate) fn create(folder: &SpillFolder, name: &str) -> Result<Self> {
        let path = folder.file(name)?;
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(failed(&path))?;
        Ok(Self {
            file,
            path,
            items: 0,
        })
    }

    /// Adds `items`; returns the position of the first.
    pub(crate) fn append<T: Fixed>(&mut self, items: &[T]) -> Result<u64> {
        let first = self.items;
        let mut at = first * T::BYTES as u64;
        put_all(items, &mut Vec::new(), |bytes| {
            self.file.write_all_at(bytes, at)?;
            at += bytes.len() as u64;
            Ok(())
        })
        .map_err(failed(&self.path))?;
        self.items += items.len() as u64;
        Ok(first)
    }

    /// Appends `count` items from position `first` on to `out`.
    pub(crate) fn read<T: Fixed>(&self, first: u64, count: usize, out: &mut Vec<T>) -> Result<()> {
        let mut bytes = vec![0; PIECE.min(count) * T::BYTES];
        let (mut at, mut left) = (first * T::BYTES as u64, count);
        while left > 0 {
            let take = left.min(PIECE);
            let used = &mut bytes[..take * T::BYTES];
            self.file
                .read_exact_at(used, at)
                .map_err(failed(&self.path))?;
            out.extend(used.chunks_exact(T::BYTES).map(T::get));
            at += used.len() as u64;
            left -= take;
        }
        Ok(())
    }

    /// Forgets everything and gives the space back.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.items = 0;
        self.file.set_len(0).map_err(failed(&self.path))
    }
}

/// Writes `bytes` as the file `name`.
pub(crate) fn write_bytes(folder: &SpillFolder, name: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.file(name)?;
    fs::write(&path, bytes).map_err(failed(&path))
}

/// Reads the file `name`.
pub(crate) fn read_bytes(folder: &SpillFolder, name: &str) -> Result<Vec<u8>> {
    let path = folder.file(name)?;
    fs::read(&path).map_err(failed(&path))
}

/// Items in a file, written once and read from the beginning.
#[derive(Debug)]
pub(crate) struct Run {
    path: PathBuf,
    /// Number of items.
    pub(crate) items: u64,
}

/// Writes a [`Run`] item by item.
pub(crate) struct RunWriter {
    file: BufWriter<File>,
    /// Scratch memory.
    bytes: Vec<u8>,
    run: Run,
}

impl RunWriter {
    pub(crate) fn create(folder: &SpillFolder, name: &str) -> Result<Self> {
        let path = folder.file(name)?;
        let file = File::create(&path).map_err(failed(&path))?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 18, file),
            bytes: Vec::new(),
            run: Run { path, items: 0 },
        })
    }

    pub(crate) fn push<T: Fixed>(&mut self, items: &[T]) -> Result<()> {
        self.run.items += items.len() as u64;
        put_all(items, &mut self.bytes, |bytes| self.file.write_all(bytes))
            .map_err(failed(&self.run.path))
    }

    pub(crate) fn finish(mut self) -> Result<Run> {
        self.file.flush().map_err(failed(&self.run.path))?;
        Ok(self.run)
    }
}

impl Run {
    /// Reads from the first item on.
    pub(crate) fn read<T: Fixed>(&self) -> Result<RunReader<'_, T>> {
        let file = File::open(&self.path).map_err(failed(&self.path))?;
        Ok(RunReader {
            file: BufReader::with_capacity(1 << 16, file),
            run: self,
            left: self.items,
            kind: std::marker::PhantomData,
        })
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // The folder goes as a whole later; a file that cannot be removed now only takes space until then.
        let _ = fs::remove_file(&self.path);
    }
}

/// Reads the items of a [`Run`].
pub(crate) struct RunReader<'a, T> {
    file: BufReader<File>,
    run: &'a Run,
    left: u64,
    kind: std::marker::PhantomData<T>,
}

impl<T: Fixed> RunReader<'_, T> {
    /// The next item, until there are no more.
    pub(crate) fn next(&mut self) -> Result<Option<T>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let mut bytes = [0; 64];
        let bytes = &mut bytes[..T::BYTES];
        self.file
            .read_exact(bytes)
            .map_err(failed(&self.run.path))?;
        Ok(Some(T::get(bytes)))
    }
}
