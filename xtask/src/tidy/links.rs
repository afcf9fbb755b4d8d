//! Links in Markdown: a relative target must exist, and so must the heading it names.

use std::path::Path;

use super::Finding;

/// Every link of one page that leads nowhere.
pub fn check(root: &Path, name: &str, text: &str) -> Vec<Finding> {
    let page = root.join(name);
    let folder = page.parent().unwrap_or(root);
    let mut findings = Vec::new();
    let mut in_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for target in targets(line) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => page.clone(),
                file => folder.join(file),
            };
            let what = if !path.exists() {
                "leads nowhere"
            } else if !heading.is_empty() && !has_heading(&path, heading) {
                "names a heading that is not there"
            } else {
                continue;
            };
            let what = format!("the link to {target} {what}");
            findings.push(Finding::new(name, number, what));
        }
    }
    findings
}

/// What stands in the parentheses of `[text](target)`, outside of inline code.
fn targets(line: &str) -> Vec<&str> {
    let in_code = |at: usize| line[..at].matches('`').count() % 2 == 1;
    line.match_indices("](")
        .filter(|(at, _)| !in_code(*at))
        .filter_map(|(at, _)| line[at + 2..].split([')', ' ']).next())
        .filter(|target| !target.is_empty())
        .collect()
}

fn has_heading(page: &Path, heading: &str) -> bool {
    let text = std::fs::read_to_string(page).unwrap_or_default();
    text.lines()
        .filter(|line| line.starts_with('#'))
        .any(|line| anchor(line) == heading)
}

/// The anchor of a heading: lower case, spaces to dashes, punctuation gone.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("docs")).unwrap();
        std::fs::write(dir.path().join("docs/a.md"), "# The way of the data\n").unwrap();
        let findings = |text: &str| -> Vec<usize> {
            check(dir.path(), "docs/b.md", text)
                .iter()
                .map(|finding| finding.line)
                .collect()
        };
        assert!(findings("[a](a.md) [w](a.md#the-way-of-the-data) [x](s://any)\n").is_empty());
        assert_eq!(findings("fine\n[gone](c.md)\n[gone](a.md#other)\n"), [2, 3]);
        assert!(findings("`[code](c.md)`\n```\n[code](c.md)\n```\n").is_empty());
    }
}
