//! Where one server of the stack is put, and what it is started with.

use crate::tls::Authority;
use crate::tools::Tools;
use std::path::Path;

#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    pub tools: &'a Tools,
    pub authority: &'a Authority,
    /// The server's own folder: it does not exist yet, its parent does.
    pub directory: &'a Path,
}
