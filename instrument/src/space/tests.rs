//! Tests for `space`.

use super::{Fact, Space, join};

const ALL: [Fact; 5] = [
    Fact::Unknown,
    Fact::Is(Space::Global),
    Fact::Is(Space::Shared),
    Fact::Is(Space::Local),
    Fact::Mixed,
];

#[test]
fn join_is_a_least_upper_bound() {
    for a in ALL {
        assert_eq!(join(a, a), a);
        assert_eq!(join(a, Fact::Mixed), Fact::Mixed);
        assert_eq!(join(a, Fact::Unknown), a);
        for b in ALL {
            assert_eq!(join(a, b), join(b, a));
            for c in ALL {
                assert_eq!(join(join(a, b), c), join(a, join(b, c)));
            }
        }
    }
}
