//! Tests for `printf`.

use super::*;
use proptest::prelude::*;

/// Packs arguments as NVPTX does.
#[derive(Default)]
struct Packer(Vec<u8>);

impl Packer {
    fn put(mut self, bytes: &[u8]) -> Self {
        self.0.resize(self.0.len().next_multiple_of(bytes.len()), 0);
        self.0.extend(bytes);
        self
    }
    fn int(self, value: i32) -> Self {
        self.put(&value.to_ne_bytes())
    }
    fn long(self, value: i64) -> Self {
        self.put(&value.to_ne_bytes())
    }
    fn double(self, value: f64) -> Self {
        self.put(&value.to_ne_bytes())
    }
    fn format(self, text: &str) -> (String, c_int) {
        // The alignment is 8 bytes, as in device code.
        let mut words = vec![0u64; self.0.len() / 8 + 2];
        // SAFETY: the words have room for the bytes.
        unsafe {
            words
                .as_mut_ptr()
                .cast::<u8>()
                .copy_from(self.0.as_ptr(), self.0.len())
        };
        // SAFETY: the tests pack the arguments of their formats.
        let mut packed = unsafe { Packed::new(words.as_ptr().cast()) };
        let (text, conversions) = super::format(text.as_bytes(), &mut packed);
        (String::from_utf8(text).unwrap(), conversions)
    }
}

#[test]
fn every_conversion_is_formatted() {
    let pack = Packer::default;
    assert_eq!(
        pack().format("plain %% text\n"),
        ("plain % text\n".into(), 0)
    );
    assert_eq!(
        pack().int(-5).int(7).format("%d|%5u|"),
        ("-5|    7|".into(), 2)
    );
    assert_eq!(
        pack().int(255).int(255).int(8).format("%x %#X %o"),
        ("ff 0XFF 10".into(), 3)
    );
    assert_eq!(
        pack().int(1).double(2.5).int(3).format("%d %f %d"),
        ("1 2.500000 3".into(), 3),
        "alignment"
    );
    assert_eq!(
        pack()
            .double(1234.5)
            .double(0.001)
            .double(1.0)
            .format("%.2e %g %08.3f"),
        ("1.23e+03 0.001 0001.000".into(), 3)
    );
    assert_eq!(
        pack().long(-1).long(1 << 40).long(9).format("%ld %lld %zu"),
        ("-1 1099511627776 9".into(), 3)
    );
    assert_eq!(
        pack().int(65).int(4).int(6).format("%c%*d"),
        ("A   6".into(), 2)
    );
    assert_eq!(
        pack().int(70000).int(-1).format("%hd %hhu"),
        ("4464 255".into(), 2)
    );
    assert_eq!(pack().long(0x1234).format("%p"), ("0x1234".into(), 1));
    let string = c"text";
    assert_eq!(
        pack().long(string.as_ptr() as i64).format("[%6s]"),
        ("[  text]".into(), 1)
    );
    assert_eq!(pack().long(0).format("%s"), ("(null)".into(), 1));
    assert_eq!(
        pack().long(64).format("%s"),
        ("".into(), 1),
        "an address that cannot be read"
    );
    assert_eq!(pack().format("100%"), ("100%".into(), 0));
    assert_eq!(pack().int(1).format("%y"), ("%y".into(), 1));
    assert_eq!(pack().int(3).format("%300d").0.len(), 300);
}

#[test]
fn strings_longer_than_a_page_are_read_completely() {
    let long = CString::new(vec![b'x'; 10_000]).unwrap();
    assert_eq!(device_string(long.as_ptr() as u64).len(), 10_000);
}

proptest! {
    #[test]
    fn no_format_string_crashes(text in "[ -~]{0,30}") {
        let words = [0u64; 32];
        // SAFETY: 30 characters need at most 30 arguments, and zeroes are valid for all of them.
        let mut packed = unsafe { Packed::new(words.as_ptr().cast()) };
        prop_assume!(!text.contains('n'));
        super::format(text.as_bytes(), &mut packed);
    }
}
