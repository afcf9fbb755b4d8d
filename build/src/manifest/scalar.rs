//! Values represented by a single YAML scalar: the schema version, regular expressions and `deterministic`.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use super::model::{Determinism, Variation};

pub mod schema {
    use super::{Deserialize, Deserializer, Error, Serializer, Unexpected};

    const VERSION: u64 = 1;

    pub fn serialize<S: Serializer>(_: &(), serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(VERSION)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        let expected = "1, the only version that superstep supports";
        match u64::deserialize(deserializer)? {
            VERSION => Ok(()),
            other => Err(Error::invalid_value(Unexpected::Unsigned(other), &expected)),
        }
    }
}

pub mod regexes {
    use regex::Regex;

    use super::{Deserialize, Deserializer, Error, Serializer, Unexpected};

    struct Pattern(Regex);

    impl<'de> Deserialize<'de> for Pattern {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            Regex::new(&text).map(Pattern).map_err(|error| {
                let reason = error.to_string();
                let last = reason.lines().last().unwrap_or_default();
                let last = last.trim_start_matches("error: ");
                let expected = format!(
                    "a regular expression for Rust's regex crate ({last}); escape special characters with \\"
                );
                Error::invalid_value(Unexpected::Str(&text), &expected.as_str())
            })
        }
    }

    pub fn serialize<S: Serializer>(all: &[Regex], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(all.iter().map(Regex::as_str))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Regex>, D::Error> {
        let all = Vec::<Pattern>::deserialize(from)?;
        Ok(all.into_iter().map(|pattern| pattern.0).collect())
    }
}

impl Serialize for Determinism {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Deterministic => serializer.serialize_bool(true),
            Self::Varies(variation) => variation.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Determinism {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DeterminismVisitor;

        impl<'de> Visitor<'de> for DeterminismVisitor {
            type Value = Determinism;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("`true` or {false-because: \"the reason\"}")
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Determinism, E> {
                match value {
                    true => Ok(Determinism::Deterministic),
                    false => Err(E::invalid_value(Unexpected::Bool(false), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Determinism, A::Error> {
                Variation::deserialize(MapAccessDeserializer::new(map)).map(Determinism::Varies)
            }
        }

        deserializer.deserialize_any(DeterminismVisitor)
    }
}
