//! The state of a plug-in as bytes: keys and values, each with its type.

use serde::{Deserialize, Serialize};

use super::ffi::abi::STATE_POD;

/// Written first, so that other bytes are refused.
const FORMAT: &str = "hocket-lv2-state/1";

/// What a plug-in keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// Keys and values.
    pub entries: Vec<Entry>,
}

/// A value under its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// A URI.
    pub key: String,
    /// Its type, a URI.
    pub kind: String,
    /// `LV2_State_Flags`; all are plain bytes.
    pub flags: u32,
    /// The value.
    pub value: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    format: String,
    entries: Vec<Entry>,
}

impl State {
    /// As JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        let written = Written { format: FORMAT.into(), entries: self.entries.clone() };
        serde_json::to_vec(&written).unwrap_or_default()
    }

    /// # Errors
    /// These bytes are no state of an LV2 plug-in.
    pub fn from_bytes(bytes: &[u8]) -> Result<State, String> {
        let refused =
            |why: &dyn std::fmt::Display| format!("not the state of an LV2 plug-in: {why}");
        let written: Written = serde_json::from_slice(bytes).map_err(|error| refused(&error))?;
        if written.format != FORMAT {
            return Err(refused(&format_args!(
                "its format is '{}', not '{FORMAT}'",
                written.format
            )));
        }
        match written.entries.iter().find(|entry| entry.flags & STATE_POD == 0) {
            None => Ok(State { entries: written.entries }),
            Some(Entry { key, .. }) => Err(refused(&format_args!("'{key}' is not plain bytes"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_the_same_state() {
        let entry = Entry { key: "k".into(), kind: "t".into(), flags: 3, value: vec![0, 255, 7] };
        let state = State { entries: vec![entry] };
        assert_eq!(State::from_bytes(&state.to_bytes()), Ok(state));
    }

    #[test]
    fn other_bytes_are_refused_with_the_reason() {
        let refused = State::from_bytes(b"{\"format\":\"x\",\"entries\":[]}").unwrap_err();
        assert!(refused.contains("its format is 'x'"), "{refused}");
        assert!(State::from_bytes(b"\0").is_err());
        let entry = Entry { key: "k".into(), kind: "t".into(), flags: 2, value: vec![0; 8] };
        let refused = State::from_bytes(&State { entries: vec![entry] }.to_bytes()).unwrap_err();
        assert!(refused.contains("'k' is not plain bytes"), "{refused}");
    }
}
