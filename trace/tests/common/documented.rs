//! Reads the container using only the description in `docs/trace-format.md`.

use xxhash_rust::xxh3::xxh3_64;

pub fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Returns the kind, launch, thread accesses and payload of every chunk.
pub fn chunks(file: &[u8], role: u64, stream: u64) -> Vec<(u8, u32, u64, Vec<u8>)> {
    assert_eq!(&file[..8], b"SUPERST\x1a");
    let header = (
        number(&file[8..12]),
        number(&file[12..16]),
        number(&file[16..24]),
    );
    assert_eq!(header, (1, role, stream));
    assert_eq!(number(&file[24..32]), xxh3_64(&file[..24]));
    let (mut at, mut chunks) = (32, Vec::new());
    while at < file.len() {
        let header = &file[at..at + 48];
        let field = |from: usize, to: usize| number(&header[from..to]);
        assert_eq!(
            (&header[..4], field(8, 12)),
            (b"CHNK".as_slice(), chunks.len() as u64)
        );
        assert_eq!(field(40, 48), xxh3_64(&header[..40]));
        let stored = &file[at + 48..at + 48 + field(28, 32) as usize];
        assert_eq!(field(32, 40), xxh3_64(stored));
        let decompress = |frame: &[u8]| zstd::stream::decode_all(frame).unwrap();
        let payload = match header[5] {
            0 => stored.to_vec(),
            1 => decompress(stored),
            _ => {
                let end = 4 + number(&stored[..4]) as usize;
                [&decompress(&stored[4..end]), &stored[end..]].concat()
            }
        };
        assert_eq!(payload.len() as u64, field(24, 28));
        chunks.push((header[4], field(12, 16) as u32, field(16, 24), payload));
        at += 48 + stored.len();
    }
    chunks
}

pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    pub fn take(&mut self, count: usize) -> u64 {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        number(taken)
    }

    pub fn varint(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.take(1);
            value |= (byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return value;
            }
        }
    }

    pub fn signed(&mut self) -> u64 {
        let value = self.varint();
        (value >> 1) ^ (value & 1).wrapping_neg()
    }

    pub fn numbers(&mut self, rows: u64) -> Vec<u64> {
        (0..rows).map(|_| self.varint()).collect()
    }

    pub fn sums(&mut self, rows: u64) -> Vec<u32> {
        let mut sum = 0u64;
        let mut next = |_| {
            sum = sum.wrapping_add(self.signed());
            u32::try_from(sum).unwrap()
        };
        (0..rows).map(&mut next).collect()
    }
}
