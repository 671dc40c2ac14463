//! What PostgreSQL was sent. The server logs every statement, so that its log says what was written whatever the operator says.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::PathBuf,
};

use sandbox::{Postgres, postgres::ADMIN};

/// The log of one server.
#[derive(Clone)]
pub struct ServerLog {
    path: PathBuf,
}

/// One entry, its continuation lines included.
#[derive(Debug)]
pub struct Entry {
    /// `role@database`; empty for what the server says about itself.
    pub session: String,
    pub text: String,
}

impl ServerLog {
    pub fn of(server: &Postgres) -> Self {
        Self { path: server.log() }
    }

    /// A place in the log: its end.
    pub fn mark(&self) -> u64 {
        std::fs::metadata(&self.path).unwrap().len()
    }

    pub fn since(&self, mark: u64) -> Vec<Entry> {
        let mut file = File::open(&self.path).unwrap();
        file.seek(SeekFrom::Start(mark)).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        let mut entries: Vec<Entry> = Vec::new();
        for line in String::from_utf8_lossy(&bytes).lines() {
            // 2026-11-16 02:06:00.123 UTC [4711] ramparts@postgres LOG:  statement: …
            match line.split_once("] ").filter(|_| line.starts_with("20")) {
                Some((_, rest)) => entries.push(entry(rest)),
                None => {
                    if let Some(entry) = entries.last_mut() {
                        entry.text.push('\n');
                        entry.text.push_str(line);
                    }
                }
            }
        }
        entries
    }

    /// The statements of the operator that are not plainly reads.
    pub fn writes_since(&self, mark: u64) -> Vec<String> {
        let entries = self.since(mark).into_iter();
        entries
            .filter(Entry::is_operators)
            .filter_map(|entry| entry.statement().filter(|it| writes(it)))
            .collect()
    }

    /// How many sessions were opened, by anybody but the superuser.
    pub fn sessions_since(&self, mark: u64) -> usize {
        let opened =
            |entry: &Entry| entry.text.contains("connection authorized") && !entry.session.starts_with("postgres@");
        self.since(mark).iter().filter(|entry| opened(entry)).count()
    }

    /// How many statements were sent, by anybody but the superuser.
    pub fn statements_since(&self, mark: u64) -> usize {
        let sent = |entry: &Entry| entry.statement().is_some() && !entry.session.starts_with("postgres@");
        self.since(mark).iter().filter(|entry| sent(entry)).count()
    }
}

fn entry(rest: &str) -> Entry {
    match rest.split_once(' ') {
        Some((session, text)) if session.contains('@') => Entry {
            session: session.to_owned(),
            text: text.to_owned(),
        },
        _ => Entry {
            session: String::new(),
            text: rest.to_owned(),
        },
    }
}

impl Entry {
    fn is_operators(&self) -> bool {
        self.session.split('@').next() == Some(ADMIN)
    }

    /// The SQL, whichever way it was sent.
    fn statement(&self) -> Option<String> {
        let text = self.text.strip_prefix("LOG:  ")?;
        if let Some(sql) = text.strip_prefix("statement: ") {
            return Some(sql.to_owned());
        }
        text.strip_prefix("execute ")
            .and_then(|text| text.split_once(": "))
            .map(|(_, sql)| sql.to_owned())
    }
}

/// Whether some part of the text begins with another word than those that change nothing, or hides a change behind WITH. What is not
/// known counts as a write.
fn writes(sql: &str) -> bool {
    const READS: [&str; 10] = [
        "SELECT", "WITH", "SHOW", "SET", "BEGIN", "START", "COMMIT", "ROLLBACK", "VALUES", "DISCARD",
    ];
    const HIDDEN: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "MERGE"];
    let upper = sql.to_ascii_uppercase();
    let mut parts = upper.split(';').map(|part| {
        part.split(|c: char| !c.is_ascii_alphabetic())
            .filter(|word| !word.is_empty())
    });
    parts.any(|mut words| match words.next() {
        None => false,
        Some("WITH") => words.any(|word| HIDDEN.contains(&word)),
        Some(first) => !READS.contains(&first),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_behind_a_read_is_a_write() {
        assert!(!writes("SELECT 1"));
        assert!(!writes("START TRANSACTION"));
        assert!(writes(
            "SET LOCAL createrole_self_grant = ''; CREATE ROLE \"a\" NOLOGIN"
        ));
        assert!(writes("alter role a password 'x'"));
        assert!(!writes("\nWITH base AS (SELECT 1) SELECT * FROM base"));
        assert!(writes("WITH gone AS (DELETE FROM a RETURNING *) SELECT * FROM gone"));
    }

    #[test]
    fn an_entry_has_its_session_and_its_whole_statement() {
        let it = entry("ramparts@postgres LOG:  statement: REVOKE ALL\nON x");
        assert!(it.is_operators());
        assert_eq!(it.statement().unwrap(), "REVOKE ALL\nON x");
        let it = entry("acme_api@acme LOG:  execute <unnamed>: SELECT 1");
        assert!(!it.is_operators());
        assert_eq!(it.statement().unwrap(), "SELECT 1");
        assert_eq!(entry("LOG:  checkpoint complete: wrote 1").session, "");
    }
}
