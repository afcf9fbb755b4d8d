//! Captures of format version 1: what later versions say with events of their own kinds was said there in notes.

use crate::{Event, Gap, Transport};

/// Replaces the notes whose wording meant something.
pub(super) fn give_structure(events: &mut [(Option<u64>, Event)]) {
    for (_, event) in events {
        if let Event::Note(text) = event
            && let Some(structured) = event_of(text)
        {
            *event = structured;
        }
    }
}

fn event_of(text: &str) -> Option<Event> {
    match text {
        "a 3D copy from or to an array; its bytes are not among the copies" => {
            Some(Event::Gap(Gap::ArrayCopy))
        }
        "a memory node in a CUDA graph; its bytes are not among the copies" => {
            Some(Event::Gap(Gap::GraphMemoryNode))
        }
        _ => transport(text).map(Event::Transport),
    }
}

/// `protocol stream: 1048576 bytes in 16 pieces, 3 groups, 96 accesses`.
fn transport(text: &str) -> Option<Transport> {
    let rest = text.strip_prefix("protocol stream: ")?;
    let (bytes, rest) = rest.split_once(" bytes in ")?;
    let (pieces, rest) = rest.split_once(" pieces, ")?;
    let (groups, rest) = rest.split_once(" groups, ")?;
    let accesses = rest.strip_suffix(" accesses")?;
    Some(Transport {
        bytes: bytes.parse().ok()?,
        pieces: pieces.parse().ok()?,
        groups: groups.parse().ok()?,
        accesses: accesses.parse().ok()?,
    })
}
