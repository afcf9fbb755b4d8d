//! Small serde helpers that keep the position of what they read.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_saphyr::Spanned;

/// A value and where it stands.
pub(crate) type Located<T> = Spanned<T>;

/// A mapping with free keys, in file order, each key with its position.
#[derive(Debug)]
pub(super) struct Entries<V>(pub Vec<(Located<String>, V)>);

impl<V> Default for Entries<V> {
    fn default() -> Self {
        Entries(Vec::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Entries<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for EntriesVisitor<V> {
            type Value = Entries<V>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

/// `true`, `false`, or a mapping that explains itself.
#[derive(Debug)]
pub(super) enum FlagOr<T> {
    Flag(bool),
    Other(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FlagOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FlagVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for FlagVisitor<T> {
            type Value = FlagOr<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("`true` or a mapping such as {false-because: \"the reason\"}")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(FlagOr::Flag(value))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(FlagOr::Other)
            }
        }

        deserializer.deserialize_any(FlagVisitor(PhantomData))
    }
}
