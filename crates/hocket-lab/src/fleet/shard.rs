//! Which host renders which file.

use std::path::PathBuf;

/// Deals files to `hosts` hosts in turn; the same files in whatever order give the same shares, which
/// differ by one file at most. With fewer files than hosts the last shares are empty.
pub fn shards(mut files: Vec<PathBuf>, hosts: usize) -> Vec<Vec<PathBuf>> {
    files.sort();
    let mut shares = vec![Vec::new(); hosts];
    for (at, file) in files.into_iter().enumerate() {
        if let Some(share) = shares.get_mut(at % hosts.max(1)) {
            share.push(file);
        }
    }
    shares
}
