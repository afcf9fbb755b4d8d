//! Finds the place of a value in a YAML text by its keys. Values themselves need not carry their positions.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
    Name(String),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

enum Node {
    Mapping(Vec<(Spanned<String>, Spanned<Node>)>),
    List(Vec<Spanned<Node>>),
    Scalar,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NodeVisitor;

        impl<'de> Visitor<'de> for NodeVisitor {
            type Value = Node;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("any value")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Node::Mapping(entries))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = list.next_element()? {
                    entries.push(entry);
                }
                Ok(Node::List(entries))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
                Ok(Node::Scalar)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
                Ok(Node::Scalar)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
                Ok(Node::Scalar)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
                Ok(Node::Scalar)
            }

            fn visit_str<E>(self, _: &str) -> Result<Node, E> {
                Ok(Node::Scalar)
            }

            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
        }

        deserializer.deserialize_any(NodeVisitor)
    }
}

/// The place of the value at the end of `steps`; of the last one that exists, where a step leads nowhere.
pub fn position(content: &str, steps: &[Step]) -> Location {
    let Ok(root) = serde_saphyr::from_str::<Spanned<Node>>(content) else {
        return Location::UNKNOWN;
    };
    let mut here = &root;
    for step in steps {
        let next = match (step, &here.value) {
            (Step::Key(key), Node::Mapping(entries)) => entries
                .iter()
                .find(|(name, _)| name.value == *key)
                .map(|(_, value)| value),
            (Step::Name(key), Node::Mapping(entries)) => {
                let name = entries.iter().find(|(name, _)| name.value == *key);
                return name.map_or(here.referenced, |(name, _)| name.referenced);
            }
            (Step::Index(index), Node::List(entries)) => entries.get(*index),
            _ => None,
        };
        match next {
            Some(next) => here = next,
            None => break,
        }
    }
    here.referenced
}
