//! Tests for `parts`.

use super::*;
use proptest::prelude::*;

fn any_received() -> impl Strategy<Value = Received> {
    let launch = || prop_oneof![0..4u32, any::<u32>()];
    let amount = || prop_oneof![0..40u64, any::<u64>()];
    let fields = (launch(), launch(), launch(), launch(), amount(), amount());
    fields.prop_map(
        |(source_launch, receiver_launch, source_cta, receiver_cta, bytes, count)| Received {
            source_launch,
            source_cta,
            receiver_launch,
            receiver_cta,
            bytes,
            count,
        },
    )
}

fn any_first_read() -> impl Strategy<Value = FirstRead> {
    any::<(u32, u32, u64, u64, u64)>().prop_map(
        |(source_launch, receiver_launch, stored_bytes, several_bytes, perhaps_again_bytes)| {
            FirstRead {
                source_launch,
                receiver_launch,
                stored_bytes,
                several_bytes,
                perhaps_again_bytes,
            }
        },
    )
}

proptest! {
    #[test]
    fn round_trip(
        received in prop::collection::vec(any_received(), 0..60),
        first_read in prop::collection::vec(any_first_read(), 0..8),
        cut: prop::sample::Index,
    ) {
        let mut parts = Parts { received, first_read };
        let payload = encode(&mut parts);
        prop_assert_eq!(decode(&payload), Some(parts));
        prop_assert_eq!(decode(&payload[..cut.index(payload.len())]), None);
        prop_assert_eq!(decode(&[&payload[..], &[0]].concat()), None);
    }

    #[test]
    fn any_bytes_are_read_or_refused(payload: Vec<u8>) {
        decode(&payload);
    }
}

#[test]
fn claimed_row_count_is_checked() {
    let mut out = Vec::new();
    append(&mut out, u64::MAX);
    assert_eq!(decode(&out), None);
}
