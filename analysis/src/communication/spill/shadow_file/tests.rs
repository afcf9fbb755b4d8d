//! Tests for `shadow_file`.

use super::*;
use superstep_trace::SiteId;

#[test]
fn a_page_round_trips_through_bytes() {
    for words in [true, false] {
        let mut page = Page::new(
            Tag::HOST,
            words,
            Extra {
                starts: words,
                sites: words,
            },
        );
        page.write((0, 64), 8, SiteId(9), (3, 4));
        page.write((8, 16), 4, SiteId(9), (3, 5));
        // Frees the entry of a cell that two CTAs wrote.
        page.write((16, 4), 4, SiteId(9), (4, 6));
        page.count_read(0, 0xf0);
        if let Some((entry, bit)) = page.multiple_writers(12) {
            entry.writers[1].counted |= bit;
        }
        let mut bytes = Vec::new();
        put(7, &page, &mut bytes);
        put(8, &page, &mut bytes);
        for cut in 0..bytes.len() / 2 {
            assert!(take(&mut &bytes[..cut]).is_none());
        }
        let mut rest = bytes.as_slice();
        for number in [7, 8] {
            let (found, decoded) = take(&mut rest).unwrap();
            assert_eq!(found, number);
            assert_eq!(decoded, page);
        }
        assert!(take(&mut rest).is_none());
    }
}
