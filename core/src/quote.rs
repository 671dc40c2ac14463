//! Quoting for SQL that takes no parameters (DDL does not). Whatever the text, PostgreSQL reads it back as one identifier or
//! one string. A NUL cannot be said to PostgreSQL at all: it is left where it stands, since the driver refuses to send a
//! statement that has one, and a statement without it would name something else.

/// `"…"`, exact in case and in every character.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `'…'`, or ` E'…'` with doubled backslashes where the text has one: that form means the same whatever
/// `standard_conforming_strings` says, and its space keeps the E from joining a word before it.
pub fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if text.contains('\\') {
        format!(" E'{}'", quoted.replace('\\', "\\\\"))
    } else {
        format!("'{quoted}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_closes_only_where_we_close_it() {
        assert_eq!(identifier("acme"), r#""acme""#);
        assert_eq!(
            identifier(r#"a"; drop database b; --"#),
            r#""a""; drop database b; --""#
        );
        assert_eq!(identifier(r"a\"), r#""a\""#);
        assert_eq!(identifier("Ünï"), r#""Ünï""#);
    }

    #[test]
    fn a_literal_closes_only_where_we_close_it() {
        assert_eq!(literal("16MB"), "'16MB'");
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal(r"a\'; drop"), r" E'a\\''; drop'");
        assert_eq!(literal(""), "''");
    }

    /// Reads as PostgreSQL's lexer does: a doubled quote is one, and in an E string a backslash takes the next character.
    fn unquoted(sql: &str) -> Option<String> {
        let (inside, escapes) = match sql.strip_prefix(" E'") {
            Some(inside) => (inside, true),
            None => (sql.strip_prefix('\'')?, false),
        };
        let mut rest = inside.chars();
        let mut text = String::new();
        loop {
            match rest.next()? {
                '\'' => match rest.next() {
                    Some('\'') => text.push('\''),
                    Some(_) => return None,
                    None => return Some(text),
                },
                '\\' if escapes => text.push(rest.next()?),
                other => text.push(other),
            }
        }
    }

    #[test]
    fn every_short_text_of_the_dangerous_characters_comes_back_whole() {
        let dangerous = ['\'', '\\', '"', 'E', ' ', ';', '\n', 'é'];
        let mut texts = vec![String::new()];
        for _ in 0..5 {
            texts = texts
                .iter()
                .flat_map(|t| dangerous.map(|c| format!("{t}{c}")))
                .collect();
            for text in &texts {
                assert_eq!(unquoted(&literal(text)).as_ref(), Some(text));
            }
        }
    }
}
