//! Temporary files for data that exceeds the memory limit.

use crate::error::{AnalysisError, Result};
use rustix::fs::{FallocateFlags, fallocate};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A folder of temporary files, created when first needed and removed when dropped.
#[derive(Debug)]
pub(crate) struct SpillFolder {
    parent: PathBuf,
    created: Mutex<Option<Created>>,
}

#[derive(Debug)]
struct Created {
    folder: TempDir,
    /// Locked while the folder is in use.
    _in_use: File,
}

const PREFIX: &str = ".superstep-analysis-";
const IN_USE: &str = "in-use";

impl SpillFolder {
    pub(crate) fn new(parent: PathBuf) -> Self {
        Self {
            parent,
            created: Mutex::new(None),
        }
    }

    pub(crate) fn sibling(&self) -> Self {
        Self::new(self.parent.clone())
    }

    pub(crate) fn file(&self, name: &str) -> Result<PathBuf> {
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        if created.is_none() {
            remove_abandoned_folders(&self.parent);
            *created = Some(Created::new(&self.parent).map_err(failed(&self.parent))?);
        }
        let folder = created.as_ref().map(|created| created.folder.path());
        Ok(folder.unwrap_or(&self.parent).join(name))
    }
}

impl Created {
    fn new(parent: &Path) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        // The file is renamed after it is locked, so that no other process can find it unlocked.
        let unnamed = folder.path().join("new");
        let in_use = File::create(&unnamed)?;
        // On a file system without locks, the folders of killed analyses remain.
        let _ = in_use.try_lock();
        fs::rename(unnamed, folder.path().join(IN_USE))?;
        Ok(Self {
            folder,
            _in_use: in_use,
        })
    }
}

/// Removes the folders of killed analyses where possible.
fn remove_abandoned_folders(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_ours
            && let Ok(in_use) = File::open(entry.path().join(IN_USE))
            && in_use.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> AnalysisError {
    let path = path.to_owned();
    move |source| AnalysisError::Spill { path, source }
}

/// Fixed-size items, stored in their in-memory layout: only the same process or machines of the same kind read them.
pub(crate) trait Fixed: FromBytes + IntoBytes + Immutable {}

impl<T: FromBytes + IntoBytes + Immutable> Fixed for T {}

/// Removes the first item from `bytes` and returns it; returns `None` if there are too few bytes.
pub(crate) fn next<T: Fixed>(bytes: &mut &[u8]) -> Option<T> {
    let (first, rest) = T::read_from_prefix(bytes).ok()?;
    *bytes = rest;
    Some(first)
}

/// Removes the first `count` items from `bytes` and returns them; returns `None` if there are too few bytes.
pub(crate) fn next_items<T: Fixed>(bytes: &mut &[u8], count: usize) -> Option<Vec<T>> {
    let (items, rest) = bytes.split_at_checked(count.checked_mul(size_of::<T>())?)?;
    *bytes = rest;
    let mut out = T::new_vec_zeroed(count).ok()?;
    out.as_mut_slice().as_mut_bytes().copy_from_slice(items);
    Some(out)
}

const LEVEL: i32 = 1;

/// Minimum size in bytes that is worth compressing.
const MIN_BYTES: usize = 4096;

/// Compresses the items of `parts`, stored as the first bytes of all items, then their second bytes, and so on: bytes
/// with the same meaning are similar and compress well.
pub(crate) fn pack<T: Fixed>(parts: &[&[T]]) -> Vec<u8> {
    let count: usize = parts.iter().map(|part| part.len()).sum();
    let mut columns = vec![0; count * size_of::<T>()];
    for (index, item) in parts.iter().copied().flatten().enumerate() {
        for (column, byte) in item.as_bytes().iter().enumerate() {
            columns[column * count + index] = *byte;
        }
    }
    if columns.len() < MIN_BYTES {
        return columns;
    }
    match zstd::bulk::compress(&columns, LEVEL) {
        Ok(packed) if packed.len() < columns.len() => packed,
        _ => columns,
    }
}

/// Appends the `count` items in `packed` to `out`.
pub(crate) fn unpack<T: Fixed>(
    packed: &[u8],
    count: usize,
    out: &mut Vec<T>,
) -> std::io::Result<()> {
    // Incompressible items are stored uncompressed.
    let length = count * size_of::<T>();
    let columns = if packed.len() == length {
        Cow::Borrowed(packed)
    } else {
        Cow::Owned(zstd::bulk::decompress(packed, length)?)
    };
    if columns.len() != length {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    out.extend((0..count).map(|index| {
        let mut item = T::new_zeroed();
        for (column, byte) in item.as_mut_bytes().iter_mut().enumerate() {
            *byte = columns[column * count + index];
        }
        item
    }));
    Ok(())
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    at: u64,
    bytes: usize,
    pub(crate) items: usize,
}

#[derive(Debug)]
pub(crate) struct SpillFile {
    file: File,
    path: PathBuf,
    bytes: u64,
}

impl SpillFile {
    pub(crate) fn create(folder: &SpillFolder, name: &str) -> Result<Self> {
        let path = folder.file(name)?;
        let file = File::create_new(&path).map_err(failed(&path))?;
        Ok(Self {
            file,
            path,
            bytes: 0,
        })
    }

    pub(crate) fn append(&mut self, packed: &[u8], items: usize) -> Result<Piece> {
        let (at, bytes) = (self.bytes, packed.len());
        let written = self.file.write_all_at(packed, at);
        written.map_err(failed(&self.path))?;
        self.bytes += bytes as u64;
        Ok(Piece { at, bytes, items })
    }

    pub(crate) fn read<T: Fixed>(&self, piece: Piece, out: &mut Vec<T>) -> Result<()> {
        let mut packed = vec![0; piece.bytes];
        let read = self.file.read_exact_at(&mut packed, piece.at);
        read.and_then(|()| unpack(&packed, piece.items, out))
            .map_err(failed(&self.path))
    }

    pub(crate) fn clear(&mut self) -> Result<()> {
        self.bytes = 0;
        self.file.set_len(0).map_err(failed(&self.path))
    }
}

pub(crate) fn write_bytes(folder: &SpillFolder, name: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.file(name)?;
    fs::write(&path, bytes).map_err(failed(&path))
}

pub(crate) fn read_bytes(folder: &SpillFolder, name: &str) -> Result<Vec<u8>> {
    let path = folder.file(name)?;
    fs::read(&path).map_err(failed(&path))
}

/// Size of the buffer for a [`Run`]. Runs are not compressed: they are merged multiple times, and compression would
/// take as long as a merge.
const BUFFER_BYTES: usize = 1 << 17;
/// Size of the parts of a file that are freed individually once they have been read for the last time.
const FREED_BYTES: u64 = 4 << 20;

/// Items in a file, written once and read from the beginning.
#[derive(Debug)]
pub(crate) struct Run {
    path: PathBuf,
    pub(crate) items: u64,
}

pub(crate) struct RunWriter<T> {
    file: BufWriter<File>,
    run: Run,
    items: PhantomData<T>,
}

impl<T: Fixed> RunWriter<T> {
    pub(crate) fn create(folder: &SpillFolder, name: &str) -> Result<Self> {
        let path = folder.file(name)?;
        let file = File::create(&path).map_err(failed(&path))?;
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            run: Run { path, items: 0 },
            items: PhantomData,
        })
    }

    pub(crate) fn push(&mut self, item: &T) -> Result<()> {
        self.run.items += 1;
        let written = self.file.write_all(item.as_bytes());
        // `failed` copies the path, so it is called only on error.
        written.map_err(|error| failed(&self.run.path)(error))
    }

    pub(crate) fn finish(mut self) -> Result<Run> {
        self.file.flush().map_err(failed(&self.run.path))?;
        Ok(self.run)
    }
}

impl Run {
    /// Returns a reader that frees the disk space of the items it has read, so that a merge does not need it twice.
    pub(crate) fn drain<T: Fixed>(&self) -> Result<RunReader<T>> {
        let file = File::options().read(true).write(true).open(&self.path);
        Ok(RunReader {
            freed: Some(0),
            ..self.reader(file.map_err(failed(&self.path))?, 0)
        })
    }

    pub(crate) fn read_from<T: Fixed>(&self, first: u64) -> Result<RunReader<T>> {
        let mut file = File::open(&self.path).map_err(failed(&self.path))?;
        let at = SeekFrom::Start(first * size_of::<T>() as u64);
        file.seek(at).map_err(failed(&self.path))?;
        Ok(self.reader(file, first))
    }

    fn reader<T>(&self, file: File, first: u64) -> RunReader<T> {
        RunReader {
            file: BufReader::with_capacity(BUFFER_BYTES, file),
            path: self.path.clone(),
            read: first,
            items: self.items,
            freed: None,
            kind: PhantomData,
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // The folder is removed later; until then, a file that could not be removed only takes up space.
        let _ = fs::remove_file(&self.path);
    }
}

/// Reads the items of a [`Run`], which must outlive the reader.
#[derive(Debug)]
pub(crate) struct RunReader<T> {
    file: BufReader<File>,
    path: PathBuf,
    /// Number of items read so far.
    read: u64,
    items: u64,
    /// Number of bytes freed so far; `None` if the file is kept.
    freed: Option<u64>,
    kind: PhantomData<T>,
}

impl<T: Fixed> RunReader<T> {
    pub(crate) fn next(&mut self) -> Result<Option<T>> {
        if self.read >= self.items {
            return Ok(None);
        }
        let item = T::read_from_io(&mut self.file).map_err(|error| failed(&self.path)(error))?;
        self.read += 1;
        if let Some(freed) = &mut self.freed
            && self.read * size_of::<T>() as u64 >= *freed + FREED_BYTES
        {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // If the file system cannot punch holes, the space is freed when the file is removed.
            let _ = fallocate(self.file.get_ref(), hole, *freed, FREED_BYTES);
            *freed += FREED_BYTES;
        }
        Ok(Some(item))
    }
}

#[cfg(test)]
mod tests;
