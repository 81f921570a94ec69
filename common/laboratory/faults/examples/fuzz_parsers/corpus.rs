//! The kept inputs of each parser.

use std::path::PathBuf;

/// Returns the folder of a parser's inputs.
pub(crate) fn folder(parser: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(parser)
}

/// Returns the inputs of a parser, in the order of their names.
pub(crate) fn inputs(parser: &str) -> std::io::Result<Vec<Vec<u8>>> {
    let mut paths = std::fs::read_dir(folder(parser))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    paths.into_iter().map(std::fs::read).collect()
}
