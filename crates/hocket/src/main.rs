//! The `hocket` command.
fn main() {}
