//! A host and a port.

use std::fmt;

/// Where something listens. The host is a name or an IPv4 address, so that it goes into a URL as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
}

impl Endpoint {
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let plain = !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = plain.then(|| port.parse().ok()).flatten()?;
        let label = |label: &str| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        (host.len() <= 253 && host.split('.').all(label)).then(|| Self {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_read_back_as_it_was_written() {
        for text in [
            "localhost:5432",
            "127.0.0.1:1",
            "main.abc.eu-west-1.rds.amazonaws.com:5432",
            "db_1.svc:65535",
        ] {
            assert_eq!(
                Endpoint::parse(text).map(|endpoint| endpoint.to_string()).as_deref(),
                Some(text)
            );
        }
    }

    #[test]
    fn what_would_be_something_else_in_a_url_is_no_endpoint() {
        for text in [
            "",
            "main",
            "main:",
            ":5432",
            "main:0",
            "main:05432",
            "main:65536",
            "main:+1",
            "a b:1",
            "a/b:1",
            "u:p@main:5432",
            "postgres://main:5432",
            "main:5432/x",
            "[::1]:5432",
            "::1:5432",
            "main.:1",
            "-a:1",
            "é:1",
            "main:5432\n",
        ] {
            assert_eq!(Endpoint::parse(text), None, "{text:?}");
        }
    }
}
