//! The local stack.
