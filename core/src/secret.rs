//! Secrets. A secret is shown only by [`Secret::expose`]: `Debug` and `Display` print `<redacted>`, there is no `Serialize`,
//! and its memory is wiped when it goes. A password of ours has a form that a scanner recognises.

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

/// A text that must not be shown.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

const REDACTED: &str = "<redacted>";

impl Secret {
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Looks at every byte, wherever the first difference is, so that the time taken tells nothing but the length.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let (left, right) = (self.0.as_bytes(), other.0.as_bytes());
        let differences = left.iter().zip(right).fold(0, |all, (l, r)| all | (l ^ r));
        left.len() == right.len() && std::hint::black_box(differences) == 0
    }
}

impl Eq for Secret {}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// The form of the passwords that we make: `rmp_`, 40 random base62 characters, and 6 more that are their checksum. It has
/// nothing that a URL, a SQL literal or an access rule would need to escape.
#[derive(Debug, Clone, Copy)]
pub struct Password;

/// What was to become a password is not 40 characters of base62. It says nothing about what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a password is sealed from {} base62 characters, and this is something else",
    Password::BODY
)]
pub struct NotABody;

impl Password {
    pub const PREFIX: &str = "rmp_";
    pub const BODY: usize = 40;
    pub const CHECKSUM: usize = 6;
    pub const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    /// Makes a password of randomness that the caller brings.
    pub fn seal(body: &str) -> Result<Secret, NotABody> {
        if body.len() != Self::BODY || !body.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(NotABody);
        }
        let mut text = String::with_capacity(Self::PREFIX.len() + Self::BODY + Self::CHECKSUM);
        text.push_str(Self::PREFIX);
        text.push_str(body);
        let mut checksum = checksum(body);
        text.push_str(&checksum);
        checksum.zeroize();
        Ok(Secret::new(text))
    }

    /// Whether this text is a password of ours, as a scanner would ask. It proves the form, not that it opens anything.
    pub fn is_sealed(text: &str) -> bool {
        let Some(rest) = text.strip_prefix(Self::PREFIX) else {
            return false;
        };
        let whole = rest.len() == Self::BODY + Self::CHECKSUM && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
        whole
            && rest
                .split_at_checked(Self::BODY)
                .is_some_and(|(body, seal)| checksum(body) == seal)
    }
}

/// CRC-32 (the one of zip and PNG) of the body, as six base62 digits: 62⁶ holds every 32-bit number.
fn checksum(body: &str) -> String {
    let mut crc = u32::MAX;
    for byte in body.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xEDB8_8320
            } else {
                crc >> 1
            };
        }
    }
    let mut rest = !crc;
    let mut digits = [b'0'; Password::CHECKSUM];
    for digit in digits.iter_mut().rev() {
        *digit = Password::ALPHABET[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().map(|&digit| char::from(digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "0123456789abcdefghijABCDEFGHIJ0123456789";

    #[test]
    fn the_checksum_is_the_crc32_that_every_scanner_knows() {
        // The check value of CRC-32/ISO-HDLC: 0xCBF43926 of "123456789".
        let value = checksum("123456789").bytes().fold(0_u64, |value, digit| {
            value * 62 + Password::ALPHABET.iter().position(|&known| known == digit).unwrap() as u64
        });
        assert_eq!(value, 0xCBF4_3926);
    }

    #[test]
    fn a_sealed_password_is_recognised_and_any_changed_byte_is_not() {
        let password = Password::seal(BODY).unwrap();
        let text = password.expose();
        assert_eq!(text.len(), 50);
        assert!(Password::is_sealed(text));
        for at in 0..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[at] = if changed[at] == b'z' { b'y' } else { b'z' };
            assert!(
                !Password::is_sealed(std::str::from_utf8(&changed).unwrap()),
                "byte {at}"
            );
        }
        for other in [
            "",
            "rmp_",
            &text[1..],
            &text[..49],
            &format!("{text}0"),
            &format!("rmp_{}", "é".repeat(23)),
        ] {
            assert!(!Password::is_sealed(other), "{other:?}");
        }
    }

    #[test]
    fn what_is_not_forty_base62_characters_is_not_sealed() {
        for body in [
            "",
            &BODY[1..],
            &format!("{BODY}0"),
            &format!("{}-", &BODY[1..]),
            &"é".repeat(20),
        ] {
            assert_eq!(Password::seal(body).unwrap_err(), NotABody);
        }
    }

    #[test]
    fn no_way_of_printing_shows_a_secret() {
        let secret = Secret::new("canary".to_owned());
        let error = Password::seal("canary").unwrap_err();
        for shown in [
            format!("{secret}"),
            format!("{secret:?}"),
            format!("{:#?}", Some(&secret)),
            error.to_string(),
        ] {
            assert!(!shown.contains("canary"), "{shown}");
        }
        assert_eq!(secret.expose(), "canary");
    }

    #[test]
    fn secrets_are_equal_when_every_byte_is() {
        let secret = |text: &str| Secret::new(text.to_owned());
        assert_eq!(secret("abc"), secret("abc"));
        assert_ne!(secret("abc"), secret("abd"));
        assert_ne!(secret("abc"), secret("ab"));
        assert_ne!(secret(""), secret("a"));
    }
}
