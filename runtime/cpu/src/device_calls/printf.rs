//! Device-side `printf`: formats the packed arguments that NVPTX passes.

use std::ffi::{CString, c_char, c_int, c_void};

/// Arguments of a call: each at its natural alignment, floats as doubles, strings as pointers.
pub struct Packed {
    cursor: *const u8,
}

impl Packed {
    /// Reads arguments starting at `first`, which is aligned to 8 bytes.
    ///
    /// # Safety
    /// The memory must contain the arguments of the format string; `first` may be null if there are none.
    pub unsafe fn new(first: *const u8) -> Self {
        Packed { cursor: first }
    }

    fn next<T: Copy>(&mut self) -> Option<T> {
        if self.cursor.is_null() {
            return None;
        }
        let place = (self.cursor as usize).next_multiple_of(align_of::<T>()) as *const T;
        self.cursor = place.wrapping_add(1).cast();
        // SAFETY: the memory contains the arguments of the format string, by the contract of `new`.
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

/// Formats one argument. Returns `None` if the conversion is unknown or there is no argument.
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
    macro_rules! print {
        ($suffix:expr, $value:expr) => {{
            let format = CString::new([b"%", &flags[..], &$suffix[..]].concat()).ok()?;
            let value = $value;
            print(text, |buffer, bytes| {
                // SAFETY: the format has one conversion, of the value's type, and the buffer has room for `bytes`.
                unsafe { libc::snprintf(buffer, bytes, format.as_ptr(), value) }
            })
        }};
    }
    // Number of bits of the word that are left unused by `h`, `hh` or a 32-bit argument.
    let unused = match (is_wide, shorts) {
        (true, _) => 0,
        (false, 0) => 32,
        (false, 1) => 48,
        (false, _) => 56,
    };
    let integer = |arguments: &mut Packed| match is_wide {
        true => arguments.next::<u64>(),
        false => arguments.next::<u32>().map(u64::from),
    };
    match conversion {
        b'd' | b'i' => print!(b"lld", (integer(arguments)? << unused) as i64 >> unused),
        b'u' | b'x' | b'X' | b'o' => {
            print!(
                [b'l', b'l', conversion],
                integer(arguments)? << unused >> unused
            )
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

/// Maximum number of bytes that a conversion can produce; a larger width is assumed to be a mistake.
const MAX_CONVERTED_BYTES: usize = 1 << 20;

/// Appends the output of `snprintf`, called with a buffer that grows as needed.
fn print(text: &mut Vec<u8>, snprintf: impl Fn(*mut c_char, usize) -> c_int) -> Option<()> {
    let start = text.len();
    let mut bytes = 64;
    loop {
        text.resize(start + bytes, 0);
        let length = usize::try_from(snprintf(text[start..].as_mut_ptr().cast(), bytes));
        text.truncate(start + length.unwrap_or(0));
        match length {
            Ok(length) if length < bytes => return Some(()),
            Ok(length) if length <= MAX_CONVERTED_BYTES => bytes = length + 1,
            _ => break,
        }
    }
    text.truncate(start);
    None
}

/// Reads a string of at most 64 KiB from a kernel's address, up to the first unreadable byte.
pub fn device_string(address: u64) -> String {
    if address == 0 {
        return "(null)".to_owned();
    }
    let mut bytes = Vec::new();
    let mut buffer = [0u8; 256];
    while bytes.len() < 64 << 10 {
        let from = address + bytes.len() as u64;
        // Stop at the end of the page, since the next one might be unreadable.
        let length = buffer.len().min(4096 - (from % 4096) as usize);
        let local = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: length,
        };
        let remote = libc::iovec {
            iov_base: from as *mut c_void,
            iov_len: length,
        };
        // SAFETY: copies from this process's own memory into the buffer; unreadable memory causes an error, not a signal.
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

/// Writes to C's standard output stream, in order with the program's own output.
pub fn write_stdout(text: &[u8]) {
    // SAFETY: C's standard output is valid while the program runs; `fwrite` locks it.
    unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), STDOUT) };
}

#[cfg(test)]
mod tests;
