//! Finds the position of a value in YAML text by its keys, so that the values themselves need not store positions.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_saphyr::{Location, Spanned};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
    /// The key itself, not its value.
    Name(String),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

/// Returns the position of the value at the end of `steps`, or of the last value on that path that exists.
pub fn position(content: &str, steps: &[Step]) -> Location {
    let find = |count: usize| {
        let walk = Walk(&steps[..count]);
        serde_saphyr::with_deserializer_from_str(content, |text| walk.deserialize(text)).ok()?
    };
    let mut found = (0..=steps.len()).rev().filter_map(find);
    found.next().unwrap_or(Location::UNKNOWN)
}

/// A deserializer seed that follows its steps through a YAML document.
#[derive(Clone, Copy)]
struct Walk<'a>(&'a [Step]);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = Option<Location>;

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => Ok(Some(Spanned::<IgnoredAny>::deserialize(text)?.referenced)),
            _ => text.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Option<Location>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a mapping or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            match &self.0[0] {
                Step::Key(name) if *name == key.value => {
                    found = map.next_value_seed(Walk(&self.0[1..]))?;
                    continue;
                }
                Step::Name(name) if *name == key.value => found = Some(key.referenced),
                _ => {}
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        for index in 0.. {
            if self.0[0] == Step::Index(index) {
                found = list.next_element_seed(Walk(&self.0[1..]))?.flatten();
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }
}
