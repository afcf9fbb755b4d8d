//! Splits inline PTX into tokens.

/// A word (a name, a mnemonic with its modifiers, or a number) or any other single character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Word(String),
    Mark(char),
}

/// Returns the tokens of a template in LLVM's form: `$0` is an operand, `$$` a dollar sign, and `${:uid}` a number that
/// is unique to each emitted copy of the call.
pub fn tokens(template: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
        } else if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, after)| after);
        } else {
            let length = word_bytes(rest);
            if length == 0 {
                found.push(Token::Mark(first));
                rest = &rest[first.len_utf8()..];
            } else {
                found.push(Token::Word(rest[..length].replace("$$", "$")));
                rest = &rest[length..];
            }
        }
    }
    found
}

/// Returns the length of the word at the start of `text`. `::` is part of a word (`shared::cta`), but `:` ends a label.
fn word_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut length = 0;
    while length < bytes.len() {
        let rest = &text[length..];
        if rest.starts_with("${") {
            length += rest.find('}').map_or(rest.len(), |end| end + 1);
        } else if rest.starts_with("::") && length > 0 {
            length += 2;
        } else if bytes[length].is_ascii_alphanumeric() || b"_.%$".contains(&bytes[length]) {
            length += 1;
        } else {
            break;
        }
    }
    length
}
