//! Suggestions for misspelt names.

/// Returns ` (did you mean …?)` with the name in `known` most similar to `word`; an empty string if none is similar.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let scored = known
        .into_iter()
        .map(|name| (strsim::jaro(word, name), name));
    // Clap's threshold.
    let similar = scored.filter(|(score, _)| *score > 0.7);
    let best = similar.max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map_or_else(String::new, |(_, name)| {
        format!(" (did you mean `{name}`?)")
    })
}

#[cfg(test)]
mod tests;
