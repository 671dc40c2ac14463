//! What is wrong with a settings file: every problem, each with its line. None repeats a value that could be a password.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Counted from one. Absent where the file as a whole is meant.
    pub line: Option<u64>,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// A file that is not in force. There is at least one problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    problems: Vec<Problem>,
}

impl SettingsError {
    pub(super) fn one(line: Option<u64>, message: impl Into<String>) -> Self {
        Self {
            problems: vec![Problem {
                line,
                message: message.into(),
            }],
        }
    }

    /// In the order of the file.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

/// One problem per line.
impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            let between = if at == 0 { "" } else { "\n" };
            write!(f, "{between}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingsError {}

/// Problems as they are found, so that reading goes on past the first.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    pub fn add(&mut self, line: u64, message: impl Into<String>) {
        self.0.push(Problem {
            line: Some(line),
            message: message.into(),
        });
    }

    pub fn none_or_error(mut self) -> Result<(), SettingsError> {
        self.0.sort_by_key(|problem| problem.line);
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(SettingsError { problems: self.0 })
        }
    }
}
