//! Pieces of HTML: everything that comes from outside is escaped here.

use crate::figures::escape;
use crate::papers::Work;
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");

/// A self-contained page. `header` and `main` are HTML.
pub(crate) fn document(title: &str, header: &str, main: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Superstep: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the results</a>\n<header>\n<h1>{title}</h1>\n{header}</header>\n\
         <main id=\"main\">\n{main}</main>\n</body>\n</html>\n"
    )
}

pub(crate) enum Cell {
    /// Text, set left.
    Text(String),
    /// A number, set right.
    Number(String),
    /// Text with a meaning of its own.
    Word(String, Meaning),
    /// A name, as in source code.
    Code(String),
    /// Text that leads to an element of the page.
    Link { text: String, id: String },
}

/// How a word is marked; never by colour alone.
#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    Good,
    Bad,
    Neutral,
}

impl Meaning {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Neutral => "soft",
        }
    }
}

/// What stands for an absent number.
pub(crate) const DASH: &str = "–";

impl Cell {
    /// A whole number with its digits in groups, or a dash.
    pub(crate) fn count(value: impl Into<Option<u64>>) -> Self {
        Cell::Number(value.into().map_or(DASH.to_owned(), grouped))
    }

    fn write(&self, out: &mut String, row_header: bool) {
        let (tag, scope) = match row_header {
            true => ("th", " scope=\"row\""),
            false => ("td", ""),
        };
        let (class, content) = match self {
            Cell::Text(text) => (String::new(), escape(text)),
            Cell::Number(text) => (" class=\"number\"".to_owned(), escape(text)),
            Cell::Word(text, meaning) => {
                (format!(" class=\"word {}\"", meaning.class()), escape(text))
            }
            Cell::Code(text) => (String::new(), format!("<code>{}</code>", escape(text))),
            Cell::Link { text, id } => (String::new(), link(id, text)),
        };
        let _ = write!(out, "<{tag}{scope}{class}>{content}</{tag}>");
    }
}

/// A table of rows whose cells stand beside the names of their columns. The first column names the rows.
pub(crate) fn table<const COLUMNS: usize>(
    out: &mut String,
    caption: &str,
    rows: impl IntoIterator<Item = [(&'static str, Cell); COLUMNS]>,
) {
    let mut rows = rows.into_iter().peekable();
    let column = |(name, cell): &(&'static str, Cell)| (*name, matches!(cell, Cell::Number(_)));
    let columns: Vec<_> = rows.peek().into_iter().flatten().map(column).collect();
    let cells = rows.map(|row| row.into_iter().map(|(_, cell)| cell).collect());
    table_of(out, caption, &columns, cells);
}

/// A table whose first column names the rows. `columns`: name, and whether numbers stand below it.
pub(crate) fn table_of(
    out: &mut String,
    caption: &str,
    columns: &[(impl AsRef<str>, bool)],
    rows: impl IntoIterator<Item = Vec<Cell>>,
) {
    let name = id("table", caption);
    let caption = escape(caption);
    // The region can be focused, so that a wide table is scrolled from the keyboard; it has the caption's name.
    let _ = write!(
        out,
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"{name}\">\n<table>\n<caption id=\"{name}\">{caption}</caption>\n<thead><tr>"
    );
    for (name, numbers) in columns {
        let class = if *numbers { " class=\"number\"" } else { "" };
        let _ = write!(
            out,
            "<th scope=\"col\"{class}>{}</th>",
            escape(name.as_ref())
        );
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            cell.write(out, index == 0);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

/// Begins a section whose heading, which is HTML, has the id `id`; `</section>` ends it.
pub(crate) fn section(out: &mut String, id: &str, heading: &str) {
    let _ = writeln!(
        out,
        "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{heading}</h2>"
    );
}

/// A drawing, which is HTML, with what it shows.
pub(crate) fn figure(out: &mut String, drawing: &str, description: &str) {
    let _ = writeln!(
        out,
        "<figure>\n{drawing}<figcaption>{}</figcaption>\n</figure>",
        escape(description)
    );
}

/// Text that leads to the element `id` of the page.
pub(crate) fn link(id: &str, text: &str) -> String {
    format!("<a href=\"#{}\">{}</a>", escape(id), escape(text))
}

/// The page's contents: ids and names of its parts.
pub(crate) fn contents(out: &mut String, parts: impl IntoIterator<Item = (String, String)>) {
    out.push_str("<nav aria-label=\"Contents\">\n<ul>\n");
    for (id, name) in parts {
        let _ = writeln!(out, "<li>{}</li>", link(&id, &name));
    }
    out.push_str("</ul>\n</nav>\n");
}

pub(crate) fn description_list(out: &mut String, items: &[(&str, String)]) {
    out.push_str("<dl>\n");
    for (term, text) in items {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(term), escape(text));
    }
    out.push_str("</dl>\n");
}

/// Begins a part that is folded to its summary, or shown; `</details>` ends it.
pub(crate) fn fold(out: &mut String, summary: &str, open: bool) {
    let open = if open { " open" } else { "" };
    let _ = writeln!(
        out,
        "<details{open}>\n<summary>{}</summary>",
        escape(summary)
    );
}

pub(crate) fn references<'a>(out: &mut String, works: impl IntoIterator<Item = &'a Work>) {
    section(out, "references", "References");
    let works = works.into_iter();
    let works: Vec<_> = works
        .map(|work| (work.name, work.citation.to_owned()))
        .collect();
    description_list(out, &works);
    out.push_str("</section>\n");
}

/// A whole number with its digits in groups of three.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// An id for an element: what is allowed there of `name`, after a prefix that makes it a valid one.
pub(crate) fn id(prefix: &str, name: &str) -> String {
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    format!("{prefix}-{name}")
}

#[cfg(test)]
mod tests;
