//! Building blocks of pages; `maud` escapes all text.

use crate::figures;
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

const STYLE: &str = include_str!("style.css");
/// Sorts and filters tables; pages work without it.
const SCRIPT: &str = include_str!("script.js");

pub(crate) fn document(title: &str, header: &Markup, main: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Superstep: " (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(figures::STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the results" }
                header { h1 id="top" { (title) } (header) }
                main id="main" { (main) }
                script type="module" { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

pub(crate) enum Cell {
    /// Left-aligned text.
    Text(String),
    /// A right-aligned number.
    Number(String),
    /// A word highlighted according to its meaning.
    Word(String, Meaning),
    Code(String),
    /// A link or a small drawing.
    Markup(Markup),
}

/// Highlighting of a word, never by colour alone.
#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    Good,
    Warning,
    Bad,
    Neutral,
}

impl Meaning {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Good => "word good",
            Self::Warning => "word warning",
            Self::Bad => "word bad",
            Self::Neutral => "word soft",
        }
    }
}

/// Placeholder for an absent number.
pub(crate) const DASH: &str = "–";

impl Cell {
    /// Formats a whole number with grouped digits, and `None` as a dash.
    pub(crate) fn count(value: impl Into<Option<u64>>) -> Self {
        Cell::Number(value.into().map_or(DASH.to_owned(), grouped))
    }

    fn class(&self) -> Option<&'static str> {
        match self {
            Cell::Number(_) => Some("number"),
            Cell::Word(_, meaning) => Some(meaning.class()),
            _ => None,
        }
    }
}

impl Render for Cell {
    fn render(&self) -> Markup {
        match self {
            Cell::Text(text) | Cell::Number(text) | Cell::Word(text, _) => text.render(),
            Cell::Code(text) => html! { code { (text) } },
            Cell::Markup(content) => content.clone(),
        }
    }
}

/// Renders a table from rows of column names and cells. The first column names the rows.
pub(crate) fn table<N: AsRef<str>, R: IntoIterator<Item = (N, Cell)>>(
    caption: &str,
    rows: impl IntoIterator<Item = R>,
) -> Markup {
    let rows = rows.into_iter().map(Vec::from_iter).collect::<Vec<_>>();
    let name = id("table", caption);
    html! {
        // Focusable, so that wide tables can be scrolled by keyboard.
        div.scroll role="region" tabindex="0" aria-labelledby=(name) {
            table {
                caption id=(name) { (caption) }
                thead {
                    tr {
                        @for (name, cell) in rows.iter().take(1).flatten() {
                            th scope="col" class=[matches!(cell, Cell::Number(_)).then_some("number")] { (name.as_ref()) }
                        }
                    }
                }
                tbody {
                    @for row in &rows {
                        tr {
                            @for (index, (_, cell)) in row.iter().enumerate() {
                                @if index == 0 {
                                    th scope="row" class=[cell.class()] { (cell) }
                                } @else {
                                    td class=[cell.class()] { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders a note saying that a table shows only the first `max` rows, and that the file in `tables/` has all of them.
pub(crate) fn first_of(max: usize, rows: usize, file: &str) -> Markup {
    html! {
        @if rows > max {
            p.soft { "The first " (max) " of " (rows) " rows; " code { "tables/" (file) } " has all of them." }
        }
    }
}

pub(crate) fn section(id: &str, heading: impl Render, content: &Markup) -> Markup {
    html! {
        section aria-labelledby=(id) { h2 id=(id) { (heading) } (content) }
    }
}

pub(crate) fn link(id: &str, text: &str) -> Markup {
    html! { a href={ "#" (id) } { (text) } }
}

pub(crate) fn contents(entries: impl IntoIterator<Item = impl Render>) -> Markup {
    html! {
        nav aria-label="Contents" {
            ul {
                li { a href="#top" { "↑ Top" } }
                @for entry in entries { li { (entry) } }
            }
        }
    }
}

pub(crate) fn description_list<T: Render>(items: &[(&str, T)]) -> Markup {
    html! {
        dl {
            @for (term, text) in items { dt { (term) } dd { (text) } }
        }
    }
}

/// Renders content that is collapsed to its summary unless `open`.
pub(crate) fn fold(summary: &str, open: bool, content: Markup) -> Markup {
    html! {
        details open[open] { summary { (summary) } (content) }
    }
}

/// Formats a whole number with its digits in groups of three.
pub(crate) fn grouped(value: u64) -> String {
    match value {
        0..1000 => value.to_string(),
        _ => format!("{},{:03}", grouped(value / 1000), value % 1000),
    }
}

/// Formats a number and a noun: "1 warning", "2 warnings".
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Creates a valid element id from `name`, with a prefix.
pub(crate) fn id(prefix: &str, name: &str) -> String {
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    format!("{prefix}-{name}")
}

#[cfg(test)]
mod tests;
