//! Enums whose variants have names.

/// Error for text that is not the name of any variant of an enum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {name:?}; expected {expected}")]
pub struct UnknownName {
    pub what: &'static str,
    pub name: String,
    pub expected: String,
}

/// Declares an enum whose variants have names, which serde also uses. The text in parentheses is the enum's name in
/// messages.
#[macro_export]
macro_rules! named {
    (
        $(#[$about:meta])*
        pub enum $type:ident($what:literal) {
            $($(#[$variant_meta:meta])* $variant:ident $(= $number:literal)? => $name:literal,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $type {
            $($(#[$variant_meta])* #[serde(rename = $name)] $variant $(= $number)?,)+
        }

        impl $type {
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name in files, in tables and on command lines.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let known = Self::ALL.into_iter().find(|known| known.name() == name);
                known.ok_or_else(|| $crate::UnknownName {
                    what: $what,
                    name: name.to_owned(),
                    expected: Self::ALL.map(Self::name).join(" or "),
                })
            }
        }
    };
}
