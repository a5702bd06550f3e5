//! Tables of measured costs.

use hocket_session::{costs_text, read_costs};

use super::scratch;

pub fn check(bytes: &[u8]) {
    let path = scratch::file("costs.toml", bytes);
    match read_costs(&path) {
        Ok(table) => {
            let path = scratch::file("again.toml", costs_text(&table).as_bytes());
            assert_eq!(read_costs(&path).expect("what Hocket writes"), table);
        }
        Err(error) => assert!(error.to_string().contains("= remedy: "), "{error}"),
    }
}
