//! Reads the dependency files that `-MD` writes: `target: file file \` with backslashes before spaces.

use std::path::PathBuf;

/// Returns the files of the first target, in order and without duplicates.
pub fn parse(text: &str) -> Vec<PathBuf> {
    let Some((_, list)) = text.split_once(": ") else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = Vec::new();
    let mut file = String::new();
    let mut characters = list.chars().peekable();
    let mut end = |file: &mut String| {
        if !file.is_empty() {
            let path = PathBuf::from(std::mem::take(file));
            if !files.contains(&path) {
                files.push(path);
            }
        }
    };
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.peek() {
                Some('\n') => {
                    characters.next();
                    end(&mut file);
                }
                Some(&next @ (' ' | '#' | '\\' | ':')) => {
                    characters.next();
                    file.push(next);
                }
                _ => file.push('\\'),
            },
            '$' if characters.peek() == Some(&'$') => {
                characters.next();
                file.push('$');
            }
            blank if blank.is_whitespace() => {
                end(&mut file);
                // A second target (`-MP`) starts on its own line; the first line that is not continued ends ours.
                if blank == '\n' {
                    break;
                }
            }
            other => file.push(other),
        }
    }
    end(&mut file);
    files
}

#[cfg(test)]
mod tests;
