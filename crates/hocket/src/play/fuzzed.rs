//! What the fuzzers of `fuzz/` reach of `--osc` and `--web`. A request is its `Debug` text here, so its type stays private.

use rosc::OscPacket;

use super::osc::{self, request};
use super::web::action;
use crate::http::{Request, Status};

pub use super::osc::request::Refusal;

/// The largest OSC packet that is read, in bytes.
pub const LARGEST_PACKET: usize = request::LARGEST;

/// What the messages of an OSC packet ask for.
pub fn requests(packet: &[u8]) -> Vec<Result<String, Refusal>> {
    let asked = request::requests(packet).into_iter();
    asked.map(|asked| asked.map(|(_, request)| format!("{request:?}"))).collect()
}

/// The OSC packet that says at this address whether it was done.
pub fn answer(addr: &str, is_done: bool, text: &str) -> Option<Vec<u8>> {
    osc::answer(addr, is_done, text)
}

/// The OSC packet that answers a message which is refused.
pub fn answer_to(refusal: &Refusal) -> Option<Vec<u8>> {
    osc::answer_to(refusal)
}

/// What a request to the page asks for.
///
/// # Errors
/// Status and words of the answer.
pub fn page_command(asked: &Request) -> Result<String, (Status, String)> {
    action::command(asked).map(|command| format!("{command:?}"))
}

/// The OSC packet of which a request to the page is another form. `None`: its body holds no values.
pub fn page_packet(asked: &Request) -> Option<Vec<u8>> {
    let message = action::message(asked).ok()?;
    rosc::encoder::encode(&OscPacket::Message(message)).ok()
}
