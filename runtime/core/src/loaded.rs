//! Finds the code for modules that a program embeds as bitcode.
//!
//! In place of a binary, these modules contain the text `superstep-module HASH`. The variable [`MODULES`] names a list
//! of the files to load: each line has a hash, index, protocol and files, separated by tabs, with paths relative to the
//! list's folder. Without a list, the `superstep` program next to this library creates one for the native variant.

use crate::{ModuleError, RuntimeError};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use superstep_abi::variable::MODULES;
use superstep_trace::Backend;

const PREFIX: &[u8] = b"superstep-module ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedModule {
    pub index: u32,
    pub protocol: String,
    /// The files to load, which depend on the backend.
    pub files: Vec<PathBuf>,
}

/// Returns the hash of the module at `image`, or `None` for a real fat binary or other text.
///
/// # Safety
///
/// `image` must point to a fat binary or to NUL-terminated text.
unsafe fn hash_at(image: *const c_char) -> Option<String> {
    let bytes = image.cast::<u8>();
    // SAFETY: a fat binary is longer than the prefix, and the comparison with a shorter text ends at its NUL or before.
    let is_ours = (PREFIX.iter().enumerate()).all(|(i, &byte)| unsafe { *bytes.add(i) } == byte);
    // SAFETY: the text is NUL-terminated.
    let text = is_ours
        .then(|| unsafe { CStr::from_ptr(image) })?
        .to_bytes();
    let rest = String::from_utf8_lossy(text.get(PREFIX.len()..)?);
    rest.split_once('\n').map(|(line, _)| line.to_owned())
}

/// Returns the files of the module at `image`, or `None` if it is a real fat binary or other text.
///
/// # Safety
///
/// `image` must point to a fat binary or to NUL-terminated text.
pub unsafe fn loaded_module(
    image: *const c_char,
    backend: Backend,
) -> Option<Result<LoadedModule, RuntimeError>> {
    // SAFETY: `hash_at` has the same contract.
    let hash = unsafe { hash_at(image) }?;
    Some(find(&hash, image as usize, backend))
}

fn find(hash: &str, image: usize, backend: Backend) -> Result<LoadedModule, RuntimeError> {
    static KNOWN: Mutex<Option<HashMap<String, LoadedModule>>> = Mutex::new(None);
    let fail = |reason| RuntimeError::Module(hash.to_owned(), reason);
    let list = std::env::var_os(MODULES).filter(|list| !list.is_empty());
    let mut known = KNOWN.lock();
    if let (None, Some(list)) = (&*known, &list) {
        *known = Some(read(Path::new(list)).map_err(fail)?);
    }
    let known = known.get_or_insert_default();
    if !known.contains_key(hash) {
        if list.is_some() {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
            return Err(match file_around(&maps, image) {
                Some(file) => RuntimeError::NotNamed { file },
                None => fail(ModuleError::NotNamed),
            });
        }
        let more = build(image, backend, known.len()).and_then(|list| read(&list));
        known.extend(more.map_err(fail)?);
    }
    let found = known.get(hash).cloned();
    found.ok_or_else(|| fail(ModuleError::Changed))
}

/// Reads a list of modules.
fn read(path: &Path) -> Result<HashMap<String, LoadedModule>, ModuleError> {
    let fail = |error| ModuleError::Io("read", path.to_owned(), error);
    let text = std::fs::read_to_string(path).map_err(fail)?;
    let list = std::path::absolute(path).map_err(fail)?;
    let folder = list.parent().unwrap_or(Path::new("/"));
    let line = |line: &str| {
        let mut words = line.split('\t');
        let hash = words.next()?.to_owned();
        let module = LoadedModule {
            index: words.next()?.parse().ok()?,
            protocol: words.next()?.to_owned(),
            files: words.map(|word| folder.join(word)).collect(),
        };
        Some((hash, module))
    };
    let modules: Option<_> = text.lines().map(line).collect();
    modules.ok_or(ModuleError::NotAList(list))
}

/// Builds the untraced modules of the file that contains `image`, with indices from `first`. Returns their list's path.
fn build(image: usize, backend: Backend, first: usize) -> Result<PathBuf, ModuleError> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let file = |address| file_around(&maps, address).ok_or(ModuleError::NoProgram);
    let first = first.to_string();
    let command = file(build as fn(_, _, _) -> _ as usize)?.with_file_name("superstep");
    let output = Command::new(&command)
        .args(["modules", "--backend", backend.name(), "--first", &first])
        .arg(file(image)?)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| ModuleError::Io("start", command, error))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    match output.status.success() {
        true => Ok(printed.trim_end().into()),
        false => Err(ModuleError::Build(output.status)),
    }
}

fn file_around(maps: &str, address: usize) -> Option<PathBuf> {
    let contains = |line: &str| {
        let (first, rest) = line.split_once('-')?;
        let (end, _) = rest.split_once(' ')?;
        let number = |digits| usize::from_str_radix(digits, 16).ok();
        Some((number(first)?..number(end)?).contains(&address))
    };
    let line = maps.lines().find(|line| contains(line) == Some(true))?;
    line.find('/').map(|start| line[start..].into())
}

#[cfg(test)]
mod tests;
