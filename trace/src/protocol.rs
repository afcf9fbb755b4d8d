//! How records get from a GPU to the host.

use serde::{Deserialize, Serialize};

/// The protocol of the CUDA backend; `docs/capture/protocol.md` describes both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Compact records in rings on the device, carried to the host by the kernel's warps.
    #[default]
    Stream,
    /// The warp-scope producer-consumer protocol of Rieber 2017, section 5.3.
    Thesis,
}

impl Protocol {
    pub const ALL: [Protocol; 2] = [Protocol::Stream, Protocol::Thesis];

    /// The name on command lines, in the environment and in bundles.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Stream => "stream",
            Protocol::Thesis => "thesis",
        }
    }
}

impl std::str::FromStr for Protocol {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|known| known.name() == name);
        known.ok_or_else(|| format!("there is no protocol {name:?}; expected stream or thesis"))
    }
}

impl std::fmt::Display for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Protocol;

    #[test]
    fn names_are_those_in_files() {
        for protocol in Protocol::ALL {
            assert_eq!(protocol.name().parse(), Ok(protocol));
            let json = serde_json::to_string(&protocol).unwrap();
            assert_eq!(json, format!("\"{protocol}\""));
        }
        assert!("Stream".parse::<Protocol>().is_err());
    }
}
