//! Variable-length integers: LEB128, zigzag-encoded if signed.

#[inline(always)]
pub(crate) fn append(out: &mut Vec<u8>, mut value: u64) {
    if value < 0x80 {
        out.push(value as u8);
        return;
    }
    let (mut bytes, mut last) = ([0; 10], 0);
    while value >= 0x80 {
        bytes[last] = value as u8 | 0x80;
        value >>= 7;
        last += 1;
    }
    bytes[last] = value as u8;
    out.extend_from_slice(&bytes[..=last]);
}

/// Reads an integer at `*at`; returns `None` if it is incomplete or longer than 64 bits.
#[inline(always)]
pub(crate) fn get(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    let mut shift = 7;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

/// Maps integers of small magnitude to small unsigned integers: 0, -1, 1, -2, … to 0, 1, 2, 3, …
#[inline(always)]
pub(crate) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[inline(always)]
pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests;
