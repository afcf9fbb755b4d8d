//! Tests for `shadow`.

use super::*;
use proptest::prelude::*;

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
        Extra {
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
    assert_eq!(page.segment(0, PAGE_BYTES).1, 4);
}

#[test]
fn a_host_write_replaces_the_writers_of_a_range() {
    let mut page = Page::new(Tag::UNWRITTEN, true, Extra::default());
    page.write((0, 8), 4, SiteId(9), (0, 1));
    page.write((0, 8), 4, SiteId(9), (0, 2));
    page.set(2, 4, Tag::HOST);
    assert!(page.tag(1).has_multiple_writers());
    assert_eq!(page.tag(2), Tag::HOST);
    assert!(page.multiple_writers(3).is_none());
    assert_eq!(page.written_by_multiple(0).count(), 4);
}

/// A store or non-kernel write: launch (0: the host), CTA, offset and width in bytes, number of accesses, instruction.
fn write() -> impl Strategy<Value = (u32, u32, usize, usize, usize, u32)> {
    let width = prop_oneof![Just(1_usize), Just(4), Just(8), Just(12), Just(16)];
    (
        0..3_u32,
        0..3_u32,
        0..64_usize,
        width,
        1..40_usize,
        1..4_u32,
    )
        .prop_map(|(launch, cta, at, width, count, site)| {
            (launch, cta, at * width, width, count, site)
        })
}

proptest! {
    #[test]
    fn ranges_and_cells_agree(mut writes in prop::collection::vec(write(), 0..12), is_word_page in any::<bool>()) {
        // The host writes first; the CTAs of a launch store in ascending order.
        writes.sort_by_key(|&(launch, cta, ..)| (launch, cta));
        let extra = Extra { starts: true, sites: true };
        let [mut page, mut cells] = [(); 2].map(|()| Page::new(Tag::UNWRITTEN, is_word_page, extra));
        cells.cells();
        for (launch, cta, offset, width, count, site) in writes {
            let len = width * count;
            for page in [&mut page, &mut cells] {
                match launch.checked_sub(1) {
                    None => page.set(offset, len, Tag::HOST),
                    Some(launch) => page.write((offset, len), width, SiteId(site), (launch, cta)),
                }
            }
            // No access extends past offset 1700.
            for at in 0..1700 {
                let tags = [&page, &cells].map(Page::has_multiple_writers);
                prop_assert_eq!(tags[0], tags[1]);
                prop_assert_eq!(page.tag(at), cells.tag(at), "{}", at);
                prop_assert_eq!(page.segment(at, PAGE_BYTES), cells.segment(at, PAGE_BYTES));
                if page.tag(at).launch().is_some() {
                    prop_assert_eq!(page.start(at), cells.start(at), "{}", at);
                    prop_assert!(page.writers(at, 1).eq(cells.writers(at, 1)), "{}", at);
                    let adjacent = (u64::MAX << (at % 64)) & u64::MAX >> (63 - (page.segment(at, PAGE_BYTES).1 - 1).min(at | 63) % 64);
                    let starts = |page: &Page| {
                        let mut bits = adjacent;
                        let mut starts = std::collections::BTreeSet::new();
                        while bits != 0 {
                            let ((first, step, count), written) = page.stores(at / 64, bits);
                            starts.extend((0..count).map(|k| first + k * step));
                            bits &= !written;
                        }
                        starts
                    };
                    prop_assert_eq!(starts(&page), starts(&cells), "{}", at);
                }
            }
        }
    }
}
