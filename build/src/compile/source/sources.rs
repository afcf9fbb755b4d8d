//! Source text of a translation unit and of the program's files that it includes, used to recognise old code.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::compile::Program;
use crate::manifest::{Language, TranslationUnit};

const VALID: &str = "the pattern is valid";

static INCLUDE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?m)^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]"#).expect(VALID)
});

static TEXTURE_REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^([ \t]*(?:(?:static|extern)[ \t]+)*)(texture[ \t]*<)").expect(VALID)
});

static TEXTURE_OBJECT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\bcuda(?:(?:Texture|Surface)Object_t|Create(?:Texture|Surface)Object)\b")
        .expect(VALID)
});

/// Returns whether a CUDA file in `program` declares a texture reference before preprocessing. A declaration that the
/// preprocessor removes is harmless.
pub(crate) fn have_texture_references(program: &Program) -> bool {
    any_text(program, |text| {
        matches!(in_constant_memory(text), Cow::Owned(_))
    })
}

pub(crate) fn have_texture_objects(program: &Program) -> bool {
    any_text(program, |text| TEXTURE_OBJECT.is_match(text))
}

fn any_text(program: &Program, predicate: impl Fn(&str) -> bool) -> bool {
    (program.units.iter())
        .filter(|unit| unit.language == Language::Cuda)
        .flat_map(|unit| own_texts(program, unit))
        .any(|(_, text)| predicate(&text))
}

pub(crate) fn in_constant_memory(text: &str) -> Cow<'_, str> {
    TEXTURE_REFERENCE.replace_all(text, "${1}__constant__ ${2}")
}

/// Reads a unit and every file that it includes from the program's folders, once each. The compiler reports unreadable
/// files.
pub(crate) fn own_texts(program: &Program, unit: &TranslationUnit) -> Vec<(PathBuf, String)> {
    let mut texts = Vec::new();
    let mut seen = BTreeSet::from([unit.file.clone()]);
    let mut waiting = vec![unit.file.clone()];
    while let Some(file) = waiting.pop() {
        // Comments can be in any encoding.
        let Ok(bytes) = fs::read(program.folder.join(&file)) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let own_folder = file.parent().unwrap_or(Path::new(""));
        let included = INCLUDE.captures_iter(&text).filter_map(|found| {
            let include = program.include.iter().map(PathBuf::as_path);
            std::iter::once(own_folder)
                .chain(include)
                .map(|folder| normalised(&folder.join(&found[1])))
                .find(|path| program.folder.join(path).is_file())
        });
        waiting.extend(included.filter(|file| seen.insert(file.clone())));
        texts.push((file, text));
    }
    texts
}

/// Returns `path` with `.` and, where possible, `..` resolved, so that each file has one name.
pub(crate) fn normalised(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(result.components().next_back(), Some(Component::Normal(_))) =>
            {
                result.pop();
            }
            part => result.push(part),
        }
    }
    result
}

#[cfg(test)]
mod tests;
