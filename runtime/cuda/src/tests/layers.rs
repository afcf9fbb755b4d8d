//! Checks that each folder imports only from folders before it in `FOLDERS`, with a few exceptions listed here.

use std::fs;
use std::path::Path;

const FOLDERS: [&str; 4] = ["cuda", "model", "recorder", "interpose"];

/// Exceptions: graph nodes refer to the structures that record them.
const UPWARD: [&str; 2] = [
    "model/graphs.rs: recorder::counting::CountedNode",
    "model/graphs.rs: recorder::drain::buffers::DrainBuffer",
];

fn collect(folder: &Path, source: &Path, layer: usize, upward: &mut Vec<String>) {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, source, layer, upward);
            continue;
        }
        let file = path.strip_prefix(source).expect("a source").display();
        let text = fs::read_to_string(&path).expect("a text file");
        for place in text
            .match_indices("crate::")
            .map(|(at, word)| at + word.len())
        {
            let end = text[place..].find(|c: char| !c.is_alphanumeric() && !"_:".contains(c));
            let import = text[place..][..end.unwrap_or(0)].trim_end_matches(':');
            let first = import.split("::").next();
            let above = FOLDERS[layer + 1..]
                .iter()
                .any(|&above| first == Some(above));
            if above {
                upward.push(format!("{file}: {import}"));
            }
        }
    }
}

#[test]
fn folders_import_only_from_folders_before_them() {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let mut upward = Vec::new();
    for (layer, folder) in FOLDERS.iter().enumerate() {
        collect(&source.join(folder), source, layer, &mut upward);
    }
    upward.sort();
    assert_eq!(upward, UPWARD);
}
