//! Names. A value of one of these types is valid by construction: it was checked in bytes, refused where it did not fit,
//! and never truncated or lower-cased. What people choose ([`TenantName`], [`AppName`], [`Short`], …) has an alphabet from
//! which every derived name ([`RoleName`], [`CacheUser`], [`KeyPrefix`], …) is injective and can be read from the right.

mod chosen;
mod error;
mod number;
mod store;
mod target;

pub use chosen::{AppName, Installation, PlanName, Short, TargetName, TenantName};
pub(crate) use chosen::{RESERVED_PREFIXES, RESERVED_WORDS};
pub use error::{NameError, NameErrorKind};
pub use number::{Access, RecordNo};
pub use store::StorePrefix;
pub use target::{CacheUser, DatabaseName, KeyPrefix, RoleName};

/// The longest name of a tenant, an app and so on, in bytes. Public, so that the resource's schema states the same.
pub mod limit {
    pub const INSTALLATION: usize = 8;
    pub const TENANT: usize = 40;
    pub const APP: usize = 63;
    pub const SHORT: usize = 16;
    pub const TARGET: usize = 40;
    pub const PLAN: usize = 40;
    /// PostgreSQL cuts an identifier at 63 bytes with no more than a notice.
    pub const POSTGRES: usize = 63;
    /// What ElastiCache keeps of a user id.
    pub const CACHE_USER: usize = 40;
    /// A parameter has at most 15 levels, of which the ledger needs three, and 1011 bytes with its ARN.
    pub const STORE_PREFIX: usize = 200;
    pub const STORE_LEVELS: usize = 10;
}

/// The text side of a name: everything that follows from "it is a string that `parse` let through".
macro_rules! text_name {
    ($name:ident) => {
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::name::NameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}
use text_name;
