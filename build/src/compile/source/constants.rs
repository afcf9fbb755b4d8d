//! Sets constants in a source file to a manifest's values, such as the number of timed repetitions or the default
//! amount of data. The compiler reads an edited copy; the file does not change.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use regex::Regex;

use crate::compile::{BuildError, Program, Result};
use crate::manifest::Constant;

pub(crate) fn set(program: &Program) -> Result<BTreeMap<PathBuf, String>> {
    let mut texts = BTreeMap::new();
    for constant in &program.constants {
        let path = program.folder.join(&constant.file);
        let text = match texts.remove(&constant.file) {
            Some(text) => text,
            None => fs::read_to_string(&path).map_err(BuildError::source(&path))?,
        };
        let changed = replace(&text, constant).ok_or_else(|| BuildError::unsupported(&program.name, format!(
                "{} does not define `{}`; expected `#define NAME VALUE` or `TYPE NAME = VALUE;` on one line; correct the name or the file under `constants` in the manifest",
                constant.file.display(),
                constant.name
            )))?;
        texts.insert(constant.file.clone(), changed);
    }
    Ok(texts)
}

fn replace(text: &str, constant: &Constant) -> Option<String> {
    let name = regex::escape(&constant.name);
    // A macro's value ends at a comment; a variable's at a comma or semicolon.
    let macro_value =
        format!(r"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+(?P<m>\S.*?)[ \t]*(?:/[/*].*)?\r?$");
    let variable_value = format!(
        r"\b[A-Za-z_]\w*[ \t]+{name}[ \t]*=[ \t]*(?P<v>[^=;,\x22\n][^;,\x22\n]*?)[ \t]*[;,]"
    );
    let definition = Regex::new(&format!("(?m){macro_value}|{variable_value}")).ok()?;
    let values = definition
        .captures_iter(text)
        .filter_map(|found| Some(found.name("m").or(found.name("v"))?.range()));
    let (mut changed, mut end) = (String::new(), 0);
    for value in values {
        changed.push_str(&text[end..value.start]);
        changed.push_str(&constant.value.to_string());
        end = value.end;
    }
    (end > 0).then(|| changed + &text[end..])
}

#[cfg(test)]
mod tests;
