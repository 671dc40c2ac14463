//! An answer that says no: the error code as it travels on the wire, its HTTP status and a sentence. Never a value of a parameter or a
//! password, since refusals are logged.

/// A refused call, before it is put into the service's own wire format.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub code: String,
    pub status: u16,
    pub message: String,
}

impl Refusal {
    pub fn new(code: &str, status: u16, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            status,
            message: message.into(),
        }
    }

    /// The client is at fault: HTTP 400, as both services answer nearly everywhere.
    pub fn client(code: &str, message: impl Into<String>) -> Self {
        Self::new(code, 400, message)
    }

    /// A parameter of an SSM request breaks a rule of the service model.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::client("ValidationException", message)
    }

    /// A value in an `ElastiCache` request is out of its domain.
    pub fn value(message: impl Into<String>) -> Self {
        Self::client("InvalidParameterValue", message)
    }

    /// Values in an `ElastiCache` request do not go together.
    pub fn combination(message: impl Into<String>) -> Self {
        Self::client("InvalidParameterCombination", message)
    }
}
