//! Reads the dependency files that `-MD` writes: `target: file file \` with backslashes before spaces.

use std::path::PathBuf;

/// Returns the dependencies of the first target, in order and without duplicates.
pub fn parse(text: &str) -> Vec<PathBuf> {
    // The first target ends at the first line without a backslash at its end; `-MP` adds more targets.
    let text = text.replace("\\\n", " ");
    let first = text.lines().next().and_then(|line| line.split_once(": "));
    let mut files: Vec<PathBuf> = Vec::new();
    for word in first
        .unwrap_or_default()
        .1
        .replace("\\ ", "\0")
        .split_whitespace()
    {
        let name = word
            .replace("\\#", "#")
            .replace("\\:", ":")
            .replace("\\\\", "\\");
        let file = PathBuf::from(name.replace("$$", "$").replace('\0', " "));
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

#[cfg(test)]
mod tests;
