//! Files that appear only once they are complete.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{FileError, Result};

/// A file that is written under another name and renamed when it is complete.
pub struct Staged {
    file: BufWriter<File>,
    path: PathBuf,
    part: PathBuf,
    done: bool,
}

impl Staged {
    /// Creates a file named `path` with `.part` appended, and its folder.
    pub fn create(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(FileError::at("create", folder))?;
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(FileError::at("create", &part))?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 20, file),
            path: path.to_owned(),
            part,
            done: false,
        })
    }

    pub fn finish(mut self) -> Result<PathBuf> {
        self.flush().map_err(FileError::at("write", &self.path))?;
        fs::rename(&self.part, &self.path).map_err(FileError::at("create", &self.path))?;
        self.done = true;
        Ok(self.path.clone())
    }
}

/// Writes a value as JSON to a file that appears once it is complete, and returns the path.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<PathBuf> {
    let mut file = Staged::create(path)?;
    let written = serde_json::to_writer(&mut file, value).map_err(Into::into);
    let written = written.and_then(|()| file.write_all(b"\n"));
    written.map_err(FileError::at("write", path))?;
    file.finish()
}

impl Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.done {
            drop(fs::remove_file(&self.part));
        }
    }
}
