//! Splits command lines into words, and words into parts.

pub(super) fn list(text: &str) -> Vec<String> {
    // A comma after a backslash is part of a value.
    let text = text.replace("\\,", "\0");
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts.map(|part| part.replace('\0', ",")).collect()
}

/// Returns the macros in the value of `-D` or `-U`. A comma that is not followed by a name is part of a value.
pub(super) fn macros(text: &str) -> Vec<String> {
    let parts = list(text);
    let begins_name = |letter: char| letter == '_' || letter.is_ascii_alphabetic();
    match parts.iter().all(|part| part.starts_with(begins_name)) {
        true => parts,
        false => vec![text.replace("\\,", ",")],
    }
}

/// Splits a value that contains arguments for another program at commas and, as a shell does, at spaces.
pub(super) fn parts(text: &str) -> impl Iterator<Item = String> {
    let parts = split(text, |letter| letter == ',' || letter.is_whitespace());
    parts.into_iter().filter(|part| !part.is_empty())
}

/// Returns the preprocessor flags among the host compiler's flags. nvcc also uses them for device code.
pub(super) fn preprocessing(host: &[String]) -> Vec<String> {
    /// Flags with a value, in the same word or the next.
    const WITH_VALUE: [&str; 8] = [
        "-D",
        "-U",
        "-I",
        "-isystem",
        "-include",
        "-imacros",
        "-iquote",
        "-idirafter",
    ];
    let mut found = Vec::new();
    let mut words = host.iter();
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            found.push(word.clone());
            found.extend(words.next().cloned());
        } else if WITH_VALUE.iter().any(|flag| word.starts_with(flag)) {
            found.push(word.clone());
        } else if word == "-fopenmp" {
            // Classes must have the same layout in host and device code.
            found.push(OPENMP.into());
        }
    }
    found
}

/// The macro that Clang 22 defines for `-fopenmp`.
const OPENMP: &str = "-D_OPENMP=202011";

pub(super) fn architectures(text: &str) -> impl Iterator<Item = (u32, bool)> {
    // `arch=compute_80,code=[compute_80,sm_86]`
    let named = text.split_once("arch=").map_or(text, |(_, rest)| rest);
    let word = named.split(',').next();
    let word = word.map(|word| word.trim_matches(['"', '\'']));
    word.into_iter().filter_map(|word| {
        let (_, number) =
            (word.split_once('_')).filter(|(kind, _)| ["sm", "compute", "lto"].contains(kind))?;
        let plain = number.trim_end_matches(['a', 'f']);
        Some((plain.parse().ok()?, plain != number))
    })
}

pub(super) fn words(text: &str) -> Vec<String> {
    split(text, char::is_whitespace)
}

fn split(text: &str, is_separator: impl Fn(char) -> bool) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, letter) if is_separator(letter) => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests;
