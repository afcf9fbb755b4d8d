//! Tests for `bits`.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn rows_round_trip(rows in prop::collection::vec((0u32..=64, prop::collection::vec(any::<u64>(), 0..33)), 0..12)) {
        let mut writer = BitWriter::default();
        let cut = |&(width, ref values): &(u32, Vec<u64>)| {
            values.iter().map(|value| value & low_bits(width)).collect::<Vec<_>>()
        };
        for row in &rows {
            let mut whole = [0; WARP_LANES];
            let values = cut(row);
            for (lane, &value) in whole.iter_mut().zip(&values) {
                *lane = value as u32;
            }
            match row.0 {
                ..=32 => writer.put_row(Avx2::detect(), &whole, values.len(), row.0),
                _ => writer.put_all(&values, row.0),
            }
        }
        let mut bytes = Vec::new();
        writer.copy_into(&mut bytes);
        let mut single = BitWriter::default();
        rows.iter().for_each(|row| single.put_all(&cut(row), row.0));
        let mut same = Vec::new();
        single.copy_into(&mut same);
        prop_assert_eq!(&bytes, &same);
        let bits: usize = rows.iter().map(|(width, values)| *width as usize * values.len()).sum();
        prop_assert_eq!(bytes.len(), bits.div_ceil(8));
        let (mut all, mut one) = (BitReader::default(), BitReader::default());
        for row in &rows {
            let mut back = vec![0; row.1.len()];
            prop_assert_eq!(all.get_all(&bytes, row.0, &mut back), Some(()));
            prop_assert_eq!(&back, &cut(row));
            for &value in &back {
                prop_assert_eq!(one.get(&bytes, row.0), Some(value));
            }
        }
        prop_assert!(all.is_at_end(&bytes));
        prop_assert_eq!(all.get(&bytes, 8), None);
    }
}
