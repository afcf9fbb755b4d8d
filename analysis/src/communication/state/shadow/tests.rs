//! Tests for `shadow`.

use super::*;

#[test]
fn a_tag_contains_launch_and_cta() {
    let tag = Tag::cta(0, 7);
    assert_eq!((tag.launch(), tag.cta_number()), (Some(0), 7));
    assert_eq!(Tag::HOST.launch(), None);
    assert_eq!(Tag::UNWRITTEN.launch(), None);
    assert_eq!((Tag::UNKNOWN.launch(), Tag::UNKNOWN.kind(true)), (None, 0));
    assert!(Tag::multiple(2, 5).has_multiple_writers());
    assert!(!Tag::cta(2, Tag::MULTIPLE - 1).has_multiple_writers());
    assert_eq!(Tag::multiple(2, 5).writers_index(), Some(5));
}

#[test]
fn a_partial_word_write_splits_the_page_and_keeps_its_state() {
    let mut page = Page::new(
        Tag::HOST,
        true,
        PerCell {
            starts: true,
            sites: true,
        },
    );
    page.write((0, 8), 8, SiteId(9), (1, 4));
    page.write((4, 4), 4, SiteId(9), (1, 5));
    if let Some((entry, bit)) = page.multiple_writers(5) {
        assert_eq!(bit, 2);
        entry.writers[1].counted |= bit;
    }
    page.write((9, 1), 1, SiteId(9), (1, 6));
    assert_eq!([1, 5, 9].map(|offset| page.start(offset)), [0, 4, 9]);
    assert_eq!(page.tag(3), Tag::cta(1, 4));
    assert!(page.tag(7).has_multiple_writers());
    assert_eq!(
        (page.tag(8), page.tag(9), page.tag(10)),
        (Tag::HOST, Tag::cta(1, 6), Tag::HOST)
    );
    let counted = |page: &mut Page, at| Some(page.multiple_writers(at)?.0.writers[1].counted);
    assert_eq!(
        (counted(&mut page, 4), counted(&mut page, 5)),
        (Some(0), Some(1))
    );
    assert_eq!(page.segment_end(0, PAGE_BYTES), 4);
}

#[test]
fn a_host_write_replaces_the_writers_of_a_range() {
    let mut page = Page::new(Tag::UNWRITTEN, true, PerCell::default());
    page.write((0, 8), 4, SiteId(9), (0, 1));
    page.write((0, 8), 4, SiteId(9), (0, 2));
    page.set(2, 4, Tag::HOST);
    assert!(page.tag(1).has_multiple_writers());
    assert_eq!(page.tag(2), Tag::HOST);
    assert!(page.multiple_writers(3).is_none());
    assert_eq!(page.written_by_multiple(0).count(), 4);
}
