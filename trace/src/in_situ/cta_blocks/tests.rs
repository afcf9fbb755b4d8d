//! Tests for `cta_blocks`.

use super::*;

#[test]
fn block_is_named_by_its_first_cta() {
    let four: CtaBlocks = "4".parse().unwrap();
    assert_eq!([4, 7, 8].map(|cta| four.first(cta)), [4, 4, 8]);
    assert_eq!([3, 4, 11].map(|cta| four.number(cta)), [0, 1, 2]);
    assert_eq!(four.grid([3, 3, 1]), [3, 1, 1]);
    assert_eq!(four.named("hs2d"), "hs2d (blocks of 4 CTAs)");
    let ctas = CtaBlocks::default();
    assert_eq!((ctas.first(7), ctas.number(7)), (7, 7));
    assert_eq!(ctas.grid([3, 3, 1]), [3, 3, 1]);
    assert_eq!(ctas.named("hs2d"), "hs2d");
}

#[test]
fn invalid_sizes_are_refused() {
    for text in ["0", "1", "3", "134217728", "5000000000", "-4", "many", ""] {
        let error = text.parse::<CtaBlocks>().unwrap_err().to_string();
        assert!(
            error.contains("a power of two, from 2 to 2^26"),
            "{text}: {error}"
        );
    }
    assert!(serde_json::from_str::<CtaBlocks>("3").is_err());
    let four: CtaBlocks = serde_json::from_str("4").unwrap();
    assert_eq!(serde_json::to_string(&four).unwrap(), "4");
}
