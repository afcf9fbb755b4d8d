//! Device-side `printf`: C's format strings over the packed arguments that NVPTX passes.

use std::ffi::{CString, c_char, c_int, c_void};

/// The arguments of a call: each at its natural alignment, floats as doubles, strings as pointers.
pub struct Packed {
    cursor: *const u8,
}

impl Packed {
    /// Arguments that start at `first`, which is aligned to 8 bytes.
    ///
    /// # Safety
    /// The memory must hold what the format string asks for; `first` may be null when it asks for nothing.
    pub unsafe fn new(first: *const u8) -> Self {
        Packed { cursor: first }
    }

    fn next<T: Copy>(&mut self) -> Option<T> {
        if self.cursor.is_null() {
            return None;
        }
        let place = (self.cursor as usize).next_multiple_of(align_of::<T>()) as *const T;
        self.cursor = place.wrapping_add(1).cast();
        // SAFETY: the creator promised that the memory holds the arguments that the format string asks for.
        Some(unsafe { place.read_unaligned() })
    }
}

/// Formats a call; returns the text and the number of conversions.
pub fn format(format: &[u8], arguments: &mut Packed) -> (Vec<u8>, c_int) {
    let mut text = Vec::with_capacity(format.len() + 32);
    let mut conversions = 0;
    let mut rest = format;
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'%' {
            text.push(byte);
            rest = after;
            continue;
        }
        let end = after
            .iter()
            .position(|byte| !b"#0- +'123456789.*hlLqjzt".contains(byte))
            .unwrap_or(after.len());
        let Some(&conversion) = after.get(end) else {
            text.push(byte);
            text.extend(after);
            break;
        };
        rest = &after[end + 1..];
        if conversion == b'%' {
            text.push(b'%');
            continue;
        }
        conversions += 1;
        if convert(&after[..end], conversion, arguments, &mut text).is_none() {
            text.push(b'%');
            text.extend(&after[..=end]);
        }
    }
    (text, conversions)
}

/// Formats one argument. `None` when the conversion is unknown or there is no argument.
fn convert(
    modifiers: &[u8],
    conversion: u8,
    arguments: &mut Packed,
    text: &mut Vec<u8>,
) -> Option<()> {
    let mut flags = Vec::new();
    for &byte in modifiers {
        match byte {
            b'*' => flags.extend(arguments.next::<c_int>()?.to_string().bytes()),
            b'l' | b'L' | b'q' | b'j' | b'z' | b't' | b'h' => {}
            _ => flags.push(byte),
        }
    }
    // `l`, `ll`, `z`, `j`, `t`: 8 bytes.
    let is_wide = modifiers.iter().any(|byte| b"lLqjzt".contains(byte));
    let shorts = modifiers.iter().filter(|&&byte| byte == b'h').count();
    /// Prints a value with a conversion of its type.
    macro_rules! print {
        ($suffix:expr, $value:expr) => {{
            let format = CString::new([b"%", &flags[..], &$suffix[..]].concat()).ok()?;
            let value = $value;
            print(text, |buffer, bytes| {
                // SAFETY: the format holds one conversion, of the value's type, and the buffer has room for `bytes`.
                unsafe { libc::snprintf(buffer, bytes, format.as_ptr(), value) }
            })
        }};
    }
    match conversion {
        b'd' | b'i' => {
            let value = match (is_wide, shorts) {
                (true, _) => arguments.next::<i64>()?,
                (false, 0) => arguments.next::<i32>()?.into(),
                (false, 1) => (arguments.next::<i32>()? as i16).into(),
                (false, _) => (arguments.next::<i32>()? as i8).into(),
            };
            print!(b"lld", value)
        }
        b'u' | b'x' | b'X' | b'o' => {
            let value = match (is_wide, shorts) {
                (true, _) => arguments.next::<u64>()?,
                (false, 0) => arguments.next::<u32>()?.into(),
                (false, 1) => (arguments.next::<u32>()? as u16).into(),
                (false, _) => (arguments.next::<u32>()? as u8).into(),
            };
            print!([b'l', b'l', conversion], value)
        }
        b'c' => print!(b"c", arguments.next::<c_int>()?),
        b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => {
            print!([conversion], arguments.next::<f64>()?)
        }
        b'p' => print!(b"p", arguments.next::<*const c_void>()?),
        b's' => {
            let string = CString::new(device_string(arguments.next::<u64>()?)).ok()?;
            print!(b"s", string.as_ptr())
        }
        _ => None,
    }
}

/// More than this no conversion gives: a width beyond it is a mistake.
const MOST_CONVERTED_BYTES: usize = 1 << 20;

/// Appends what `snprintf` puts into a buffer of so many bytes, which is made as large as it asks for.
fn print(text: &mut Vec<u8>, snprintf: impl Fn(*mut c_char, usize) -> c_int) -> Option<()> {
    let start = text.len();
    let mut bytes = 64;
    loop {
        text.resize(start + bytes, 0);
        let length = usize::try_from(snprintf(text[start..].as_mut_ptr().cast(), bytes));
        text.truncate(start + length.unwrap_or(0));
        match length {
            Ok(length) if length < bytes => return Some(()),
            Ok(length) if length <= MOST_CONVERTED_BYTES => bytes = length + 1,
            _ => {
                text.truncate(start);
                return None;
            }
        }
    }
}

/// Reads a string from an address that a kernel gave, at most 64 KiB; what cannot be read is left out.
pub fn device_string(address: u64) -> String {
    if address == 0 {
        return "(null)".to_owned();
    }
    let mut bytes = Vec::new();
    let mut buffer = [0u8; 256];
    while bytes.len() < 64 << 10 {
        let from = address + bytes.len() as u64;
        // Up to the end of the page, so that an unreadable one behind does no harm.
        let length = buffer.len().min(4096 - (from % 4096) as usize);
        let local = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: length,
        };
        let remote = libc::iovec {
            iov_base: from as *mut c_void,
            iov_len: length,
        };
        // SAFETY: copies from this process's own memory into the buffer; unreadable memory is an error, not a signal.
        let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
        let Ok(read @ 1..) = usize::try_from(read) else {
            break;
        };
        match buffer[..read].iter().position(|&byte| byte == 0) {
            Some(end) => {
                bytes.extend(&buffer[..end]);
                break;
            }
            None => bytes.extend(&buffer[..read]),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

unsafe extern "C" {
    #[link_name = "stdout"]
    static STDOUT: *mut libc::FILE;
}

/// Writes to the program's own standard output stream, so that the text stands where the program's own would.
pub fn write_stdout(text: &[u8]) {
    // SAFETY: C's standard output is valid while the program runs; `fwrite` locks it.
    unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), STDOUT) };
}

#[cfg(test)]
mod tests {
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
            // Alignment as in device code: 8 bytes.
            let mut words = vec![0u64; self.0.len() / 8 + 2];
            // SAFETY: the words have room for the bytes.
            unsafe {
                words
                    .as_mut_ptr()
                    .cast::<u8>()
                    .copy_from(self.0.as_ptr(), self.0.len())
            };
            // SAFETY: the tests pack what their formats ask for.
            let mut packed = unsafe { Packed::new(words.as_ptr().cast()) };
            let (text, conversions) = super::format(text.as_bytes(), &mut packed);
            (String::from_utf8(text).unwrap(), conversions)
        }
    }

    #[test]
    fn conversions_of_every_kind() {
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
    fn strings_end_with_the_page_that_can_be_read() {
        let long = CString::new(vec![b'x'; 10_000]).unwrap();
        assert_eq!(device_string(long.as_ptr() as u64).len(), 10_000);
    }

    proptest! {
        #[test]
        fn any_format_string_is_survived(text in "[ -~]{0,30}") {
            let words = [0u64; 32];
            // SAFETY: 30 characters ask for at most 30 arguments, and zeroes are valid for all of them.
            let mut packed = unsafe { Packed::new(words.as_ptr().cast()) };
            prop_assume!(!text.contains('n'));
            super::format(text.as_bytes(), &mut packed);
        }
    }
}
