//! Splits the files of a capture into chunks, changes the chunks, and joins them with correct checksums.

use crate::{Edit, edge, edit};
use arbitrary::Arbitrary;
use xxhash_rust::xxh3::xxh3_64;

const FILE_HEADER: usize = 32;
const CHUNK_HEADER: usize = 48;

#[derive(Clone)]
struct Chunk {
    kind: u8,
    tag: u32,
    items: u64,
    payload: Vec<u8>,
}

pub struct File {
    header: Vec<u8>,
    chunks: Vec<Chunk>,
}

#[derive(Arbitrary, Clone, Debug)]
pub enum Change {
    /// Edits a JSON chunk.
    Json(u8, Vec<Edit>),
    Bytes(u8, Vec<(u16, u8)>),
    Cut(u8, u16),
    Payload(u8, Vec<u8>),
    Remove(u8),
    Repeat(u8, u8),
    Kind(u8, u8),
    Tag(u8, u32),
    Items(u8, u8),
    Version(u8),
    Role(u8),
    Stream(u8),
    /// Stores the chunk compressed.
    Compress(u8),
    /// Changes the lengths in a chunk's header.
    Lengths(u8, u8, u8),
}

impl File {
    pub fn read(bytes: &[u8]) -> Self {
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let mut chunks = Vec::new();
        let mut start = FILE_HEADER;
        while start < bytes.len() {
            let (raw, stored) = (number(start + 24), number(start + 28));
            let content = &bytes[start + CHUNK_HEADER..start + CHUNK_HEADER + stored];
            let payload = match bytes[start + 5] {
                0 => content.to_vec(),
                1 => {
                    zstd::bulk::decompress(content, raw).expect("the tests' own captures are valid")
                }
                _ => {
                    let (frame, tail) = content[4..].split_at(number(start + CHUNK_HEADER));
                    let head = zstd::bulk::decompress(frame, raw - tail.len());
                    [&head.expect("the tests' own captures are valid")[..], tail].concat()
                }
            };
            chunks.push(Chunk {
                kind: bytes[start + 4],
                tag: number(start + 12) as u32,
                items: u64::from_le_bytes(bytes[start + 16..start + 24].try_into().unwrap()),
                payload,
            });
            start += CHUNK_HEADER + stored;
        }
        let header = bytes[..FILE_HEADER].to_vec();
        File { header, chunks }
    }

    /// Returns the file with these changes.
    pub fn changed(&self, changes: &[Change]) -> Vec<u8> {
        let mut chunks = self.chunks.clone();
        let mut header = self.header.clone();
        let mut compressed = Vec::new();
        let mut lengths = Vec::new();
        for change in changes.iter().take(16) {
            if chunks.is_empty() {
                break;
            }
            let count = chunks.len();
            let at = |at: &u8| usize::from(*at) % count;
            match change {
                Change::Json(chunk, edits) => {
                    let payload = &mut chunks[at(chunk)].payload;
                    if let Ok(mut document) = serde_json::from_slice(payload) {
                        edit(&mut document, edits);
                        *payload = document.to_string().into_bytes();
                    }
                }
                Change::Bytes(chunk, changes) => {
                    let payload = &mut chunks[at(chunk)].payload;
                    let length = payload.len();
                    for (place, byte) in changes.iter().filter(|_| length > 0) {
                        payload[usize::from(*place) % length] = *byte;
                    }
                }
                Change::Cut(chunk, length) => {
                    let payload = &mut chunks[at(chunk)].payload;
                    payload.truncate(usize::from(*length) % (payload.len() + 1));
                }
                Change::Payload(chunk, bytes) => chunks[at(chunk)].payload = bytes.clone(),
                Change::Remove(chunk) => drop(chunks.remove(at(chunk))),
                Change::Repeat(chunk, to) => chunks.insert(at(to), chunks[at(chunk)].clone()),
                Change::Kind(chunk, kind) => chunks[at(chunk)].kind = kind % 8,
                Change::Tag(chunk, tag) => chunks[at(chunk)].tag = *tag,
                Change::Items(chunk, number) => chunks[at(chunk)].items = edge(*number),
                Change::Version(version) => header[8] = version % 8,
                Change::Role(role) => header[12] = role % 4,
                Change::Stream(stream) => header[16] = *stream,
                Change::Compress(chunk) => compressed.push(at(chunk)),
                Change::Lengths(chunk, raw, stored) => {
                    lengths.push((at(chunk), edge(*raw) as u32, edge(*stored) as u32));
                }
            }
        }
        let sum = xxh3_64(&header[..24]);
        header[24..32].copy_from_slice(&sum.to_le_bytes());
        let mut file = header;
        for (index, chunk) in chunks.iter().enumerate() {
            let is_compressed = compressed.contains(&index);
            let stored = if is_compressed {
                zstd::bulk::compress(&chunk.payload, 1)
                    .expect("compression into memory cannot fail")
            } else {
                chunk.payload.clone()
            };
            let (mut raw_bytes, mut stored_bytes) =
                (chunk.payload.len() as u32, stored.len() as u32);
            if let Some((_, raw, stored)) = lengths.iter().find(|(chunk, ..)| *chunk == index) {
                raw_bytes = *raw;
                // A large length would always extend past the end of the file.
                stored_bytes = if *stored > 64 { stored_bytes } else { *stored };
            }
            let mut header = [0; CHUNK_HEADER];
            header[..4].copy_from_slice(b"CHNK");
            header[4] = chunk.kind;
            header[5] = u8::from(is_compressed);
            header[8..12].copy_from_slice(&(index as u32).to_le_bytes());
            header[12..16].copy_from_slice(&chunk.tag.to_le_bytes());
            header[16..24].copy_from_slice(&chunk.items.to_le_bytes());
            header[24..28].copy_from_slice(&raw_bytes.to_le_bytes());
            header[28..32].copy_from_slice(&stored_bytes.to_le_bytes());
            let payload_sum = xxh3_64(&stored[..(stored_bytes as usize).min(stored.len())]);
            header[32..40].copy_from_slice(&payload_sum.to_le_bytes());
            let sum = xxh3_64(&header[..40]);
            header[40..48].copy_from_slice(&sum.to_le_bytes());
            file.extend_from_slice(&header);
            file.extend_from_slice(&stored);
        }
        file
    }
}
