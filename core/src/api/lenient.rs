//! Reading what may be rubbish: a value that does not fit counts as one that is not there.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

pub(super) fn or_default<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}
