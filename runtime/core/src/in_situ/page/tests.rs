//! Tests for `page`.

use super::*;

#[test]
fn ranges_are_split_into_words() {
    let cut = |start, end| words(start, end).collect::<Vec<_>>();
    assert_eq!(cut(4, 12), [(1, 0xf), (2, 0xf)]);
    assert_eq!(cut(6, 13), [(1, 0b1100), (2, 0xf), (3, 0b0001)]);
    assert_eq!(cut(5, 7), [(1, 0b0110)]);
    assert_eq!(cut(5, 5), [(1, 0)]);
    assert_eq!(cut(8, 8), []);
}

#[test]
fn a_partly_written_word_stays_split() {
    let mut page = Page::new();
    let read = |page: &mut Page, word| {
        let mut found = Vec::new();
        page.each(word, 0xf, |entry, bytes| found.push((*entry, bytes)));
        found
    };
    page.fill(6, 8, Entry::HOST);
    assert_eq!(read(&mut page, 0), [(Entry::UNWRITTEN, 0xf)]);
    let halves = [Entry::UNWRITTEN, Entry::UNWRITTEN, Entry::HOST, Entry::HOST];
    let found: Vec<Entry> = read(&mut page, 1).into_iter().map(|it| it.0).collect();
    assert_eq!(found, halves);
    page.fill(4, 8, Entry::UNKNOWN);
    assert_eq!(read(&mut page, 1)[3], (Entry::UNKNOWN, 0b1000));
    assert_eq!(page.bytes.len(), 1);
}
