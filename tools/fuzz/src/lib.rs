//! Helpers for the fuzzers: changes that keep JSON nearly valid, files with recomputed checksums, and a scratch folder.

pub mod sealed;

use arbitrary::Arbitrary;
use serde_json::Value;
use std::path::{Path, PathBuf};
use superstep_trace::Capture;

/// Numbers that might overflow, be truncated or be mistaken for a size.
const EDGES: [u64; 14] = [
    0,
    1,
    31,
    32,
    255,
    65_535,
    65_536,
    u32::MAX as u64,
    1 << 32,
    1 << 53,
    1 << 60,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

pub fn edge(number: u8) -> u64 {
    EDGES[usize::from(number) % EDGES.len()]
}

#[derive(Arbitrary, Clone, Debug)]
pub enum Change {
    Null,
    Flag(bool),
    Edge(u8),
    Number(u64),
    Negative(i64),
    Fraction(f64),
    Text(String),
    EmptyList,
    EmptyObject,
    /// Removes an element of a list, or a key.
    Remove,
    /// Repeats an element of a list.
    Repeat,
    /// Replaces the value with another part of the document.
    Other(u16),
}

/// A change to one of a document's values, which are numbered in depth-first order.
#[derive(Arbitrary, Clone, Debug)]
pub struct Edit {
    pub at: u16,
    pub change: Change,
}

/// Applies the changes in order.
pub fn edit(document: &mut Value, edits: &[Edit]) {
    for Edit { at, change } in edits.iter().take(16) {
        let count = nodes(document);
        let mut at = usize::from(*at) % count;
        let new = match change {
            Change::Null => Value::Null,
            Change::Flag(flag) => (*flag).into(),
            Change::Edge(number) => edge(*number).into(),
            Change::Number(number) => (*number).into(),
            Change::Negative(number) => (*number).into(),
            Change::Fraction(number) => (*number).into(),
            Change::Text(text) => text.clone().into(),
            Change::EmptyList => Value::Array(Vec::new()),
            Change::EmptyObject => Value::Object(serde_json::Map::new()),
            Change::Remove | Change::Repeat => {
                rearrange(document, &mut at, matches!(change, Change::Remove));
                continue;
            }
            Change::Other(other) => {
                let mut other = usize::from(*other) % count;
                let found = node(document, &mut other).map(|found| found.clone());
                found.unwrap_or_default()
            }
        };
        if let Some(old) = node(document, &mut at) {
            *old = new;
        }
    }
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(nodes).sum(),
        Value::Object(object) => object.values().map(nodes).sum(),
        _ => 0,
    }
}

fn node<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|value| node(value, at)),
        Value::Object(object) => object.values_mut().find_map(|value| node(value, at)),
        _ => None,
    }
}

/// Removes or repeats an element of the list or object at `at`.
fn rearrange(value: &mut Value, at: &mut usize, remove: bool) {
    let place = *at;
    match node(value, at) {
        Some(Value::Array(list)) if !list.is_empty() => {
            let index = place % list.len();
            if remove {
                drop(list.remove(index))
            } else {
                list.insert(index, list[index].clone())
            }
        }
        Some(Value::Object(object)) if remove && !object.is_empty() => {
            let key = object.keys().nth(place % object.len()).cloned();
            key.and_then(|key| object.remove(&key));
        }
        _ => {}
    }
}

/// Returns this process's scratch folder, which is empty on the first call.
pub fn scratch() -> &'static Path {
    static FOLDER: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("superstep-fuzz-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("the folder for temporary files is writable");
        folder
    })
}

/// Checks that an import wrote a complete and readable capture.
pub fn assert_whole(folder: &Path) {
    let capture = Capture::open(folder).expect("an imported capture can be opened");
    assert!(capture.complete, "{:?}", capture.problems);
    let problems = capture.verify().expect("it can be read");
    assert!(problems.is_empty(), "{problems:?}");
}

pub fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::write(path, content).expect("the folder for temporary files is writable");
}
