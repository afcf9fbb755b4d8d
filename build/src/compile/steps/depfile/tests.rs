//! Tests for `depfile`.

use super::parse;
use std::path::PathBuf;

#[test]
fn spaces_and_continued_lines_are_parsed() {
    let files = parse("out.bc: a.cu \\\n  include/b\\ c.h /usr/x$$y.h \\\n  a.cu\nother: z.h\n");
    let expected: Vec<PathBuf> = ["a.cu", "include/b c.h", "/usr/x$y.h"]
        .map(PathBuf::from)
        .into();
    assert_eq!(files, expected);
}

#[test]
fn a_continued_line_does_not_end_the_list() {
    assert_eq!(parse("o: a \\\n b\n").len(), 2);
    assert_eq!(parse("o: a\\\n b \\\n\n").len(), 2);
}

#[test]
fn an_empty_dependency_file_lists_no_files() {
    assert!(parse("").is_empty());
    assert!(parse("out.bc:").is_empty());
}
