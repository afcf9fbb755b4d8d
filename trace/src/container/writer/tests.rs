//! Tests for `writer`.

use super::super::{ChunkReader, Kind, Role};
use super::*;

#[test]
fn full_disk_keeps_whole_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.sst");
    let mut file = ChunkFile::create(path.clone(), Role::Events, 0, None).unwrap();
    let chunk = || SealedChunk::new(Kind::EVENT, 0, 0, &[7; 1000]);
    file.write(chunk()).unwrap();
    let length = file.length;
    let disk = std::mem::replace(
        &mut file.file,
        File::options().write(true).open("/dev/full").unwrap(),
    );
    let error = file.write(chunk()).unwrap_err();
    assert!(
        matches!(error, TraceError::DiskFull { kept_bytes, .. } if kept_bytes == length),
        "{error}"
    );
    file.file = disk;
    let error = file.write(chunk()).unwrap_err();
    assert!(matches!(error, TraceError::WriterStopped { .. }), "{error}");
    let reader = ChunkReader::open(&path, Role::Events).unwrap();
    assert_eq!((reader.chunks.len(), reader.problem), (1, None));
}

#[test]
fn incompressible_payload_is_stored_uncompressed() {
    let noise: Vec<u8> = (0..1000u64)
        .flat_map(|i| xxh3_64(&i.to_le_bytes()).to_le_bytes())
        .collect();
    for (payload, smaller) in [
        (noise.as_slice(), false),
        (&[0; 1000], true),
        (&[0; 10], false),
        (&[], false),
    ] {
        let sealed = SealedChunk::new(Kind::EVENT, 0, 0, payload);
        assert_eq!(
            sealed.stored_bytes() < CHUNK_HEADER_BYTES + payload.len(),
            smaller
        );
        assert_eq!(sealed.bytes[5] == FLAG_ZSTD, smaller);
    }
}
