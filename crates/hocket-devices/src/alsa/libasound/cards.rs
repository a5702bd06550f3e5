//! The cards of the system.

use std::ffi::CStr;

use super::functions::Functions;

/// What ALSA says of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardFacts {
    /// The PCM that is this card alone, such as `hw:0`.
    pub pcm: String,
    /// For people.
    pub name: String,
}

/// All cards, by number.
pub(in crate::alsa) fn cards(functions: &'static Functions) -> Vec<CardFacts> {
    let (mut number, mut cards) = (-1, Vec::new());
    loop {
        // SAFETY: Types; the number is this function's own.
        let code = unsafe { (functions.card_next)(&raw mut number) };
        // A failure has no further cards, as the end.
        if code < 0 || number < 0 {
            return cards;
        }
        let name = name(functions, number).unwrap_or_else(|| "without a name".into());
        cards.push(CardFacts { pcm: format!("hw:{number}"), name });
    }
}

fn name(functions: &Functions, number: i32) -> Option<String> {
    let mut text = std::ptr::null_mut();
    // SAFETY: Types. On success the text is allocated, and this function's to free, once.
    unsafe {
        if (functions.card_name)(number, &raw mut text) < 0 || text.is_null() {
            return None;
        }
        let name = CStr::from_ptr(text).to_string_lossy().into_owned();
        (functions.free)(text.cast());
        Some(name)
    }
}
