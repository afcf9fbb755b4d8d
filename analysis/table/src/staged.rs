//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{FileError, Result};

/// A file that is written under another name and gets its own when it is done.
pub struct Staged {
    file: BufWriter<File>,
    path: PathBuf,
    part: PathBuf,
    done: bool,
}

impl Staged {
    /// Opens `path` with `.part` appended; its folder is created.
    ///
    /// # Errors
    /// The file cannot be created.
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

    /// Another handle on the file, for a program that writes it.
    pub(crate) fn handle(&self) -> std::io::Result<File> {
        self.file.get_ref().try_clone()
    }

    /// Writes what is buffered and gives the file its name.
    ///
    /// # Errors
    /// The rest cannot be written, or the file not be renamed.
    pub fn finish(mut self) -> Result<PathBuf> {
        self.flush().map_err(FileError::at("write", &self.path))?;
        fs::rename(&self.part, &self.path).map_err(FileError::at("create", &self.path))?;
        self.done = true;
        Ok(self.path.clone())
    }
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
    /// What was given up on leaves nothing.
    fn drop(&mut self) {
        if !self.done {
            drop(fs::remove_file(&self.part));
        }
    }
}
