//! Acts.
