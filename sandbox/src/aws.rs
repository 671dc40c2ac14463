//! The AWS sandbox.
