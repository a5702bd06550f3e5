//! OSC packets: what they ask for, alone, cut and in bundles, and the answers to them.

use hocket::fuzzed::{LARGEST_PACKET, Refusal, answer, answer_to, requests};
use hocket_lab::foreign;

/// A packet is cut in about so many places.
const CUTS: usize = 256;
/// A message has an address and type tags: four bytes each, at least.
const SMALLEST_MESSAGE: usize = 8;
const BUNDLE: &[u8] = b"#bundle\0\0\0\0\0\0\0\0\x01";
const PLAY: &[u8] = b"/play\0\0\0,\0\0\0";

type Asked = [Result<String, Refusal>];

pub fn check(bytes: &[u8]) {
    let asked = requests(bytes);
    for refusal in asked.iter().filter_map(|asked| asked.as_ref().err()) {
        check_refusal(refusal);
    }
    check_bundled(bytes, &asked);
    if is_malformed(&asked) {
        return;
    }
    assert!(bytes.len() <= LARGEST_PACKET);
    assert!(asked.len() * SMALLEST_MESSAGE <= bytes.len(), "{} requests", asked.len());
    assert!(!asked.iter().any(|asked| matches!(asked, Err(Refusal::Malformed(_)))), "{asked:?}");
    check_cuts(bytes, &asked);
    for asked in asked.iter().filter_map(|asked| asked.as_ref().ok()) {
        check_place(asked);
    }
    if !bytes.starts_with(b"#") {
        check_message(bytes, &asked);
    }
}

/// Nothing of such a packet is obeyed.
fn is_malformed(asked: &Asked) -> bool {
    matches!(asked, [Err(Refusal::Malformed(_))])
}

fn bundle(elements: &[&[u8]]) -> Vec<u8> {
    let sized = elements.iter().map(|it| [&(it.len() as u32).to_be_bytes()[..], it].concat());
    [BUNDLE.to_vec(), sized.collect::<Vec<_>>().concat()].concat()
}

/// A bundle asks for what its elements ask for, in their order. A damaged element spoils all of it.
fn check_bundled(bytes: &[u8], asked: &Asked) {
    let play = requests(PLAY);
    let is_too_deep =
        |asked: &Asked| matches!(asked, [Err(Refusal::Malformed(why))] if why.contains("deep"));
    for (elements, expected) in
        [([PLAY, bytes], [&play[..], asked].concat()), ([bytes, PLAY], [asked, &play[..]].concat())]
    {
        let packet = bundle(&elements);
        let bundled = requests(&packet);
        if is_malformed(asked) || packet.len() > LARGEST_PACKET {
            assert!(is_malformed(&bundled), "{bundled:?}");
        } else if !(bytes.starts_with(b"#") && is_too_deep(&bundled)) {
            assert_eq!(bundled, expected);
        }
    }
}

/// What is cut is refused. Of a bundle, the first elements alone are a bundle, too.
fn check_cuts(bytes: &[u8], asked: &Asked) {
    for cut in (0..bytes.len()).step_by(1 + bytes.len() / CUTS) {
        let first = requests(&bytes[..cut]);
        let is_shorter = bytes.starts_with(b"#") && asked.starts_with(&first);
        assert!(is_shorter || is_malformed(&first), "the first {cut} bytes: {first:?}");
    }
    let longer = requests(&[bytes, &[0; 4]].concat());
    assert!(is_malformed(&longer), "with four bytes behind it: {longer:?}");
}

/// Places in the song are numbers that can be reached: seconds that are finite, or bars and beats from 1.
fn check_place(asked: &str) {
    if asked.starts_with("Locate(") || asked.starts_with("Loop(") {
        let wrong = ["inf", "NaN", "Bar(0,", ", 0)"];
        assert!(!wrong.iter().any(|wrong| asked.contains(wrong)), "{asked}");
    }
}

/// Every byte of a message that is known belongs to its address, its type tags or its arguments.
fn check_message(bytes: &[u8], asked: &Asked) {
    let message = Message::of(bytes);
    let message = message.unwrap_or_else(|| panic!("this is no message, and asks for {asked:?}"));
    assert_eq!(asked.len(), 1, "a message asks for one thing");
    let (Ok(said) | Err(Refusal::NotPossible(_, said))) = &asked[0] else { return };
    let packet = answer(message.address, true, &foreign::plain(said)).expect("it can be written");
    let answered = Message::of(&packet).expect("a message");
    assert_eq!((answered.address, answered.tags), (message.address, "is"));
    assert_eq!(answered.data[0], [0, 0, 0, 1]);
    let text = answered.data[1].split(|byte| *byte == 0).next();
    assert_eq!(text, Some(foreign::plain(said).as_bytes()));
    if said.starts_with("Effects(") {
        check_silent(&packet);
    }
}

/// Two runs that have each other's address do not answer each other for ever.
fn check_silent(packet: &[u8]) {
    for asked in requests(packet) {
        assert!(matches!(asked, Err(Refusal::IsAnswer(_) | Refusal::Malformed(_))), "{asked:?}");
        assert_eq!(asked.err().as_ref().and_then(answer_to), None);
    }
}

fn check_refusal(refusal: &Refusal) {
    match refusal {
        Refusal::Malformed(why) | Refusal::NotPossible(_, why) => assert!(!why.is_empty()),
        Refusal::Unknown(address) | Refusal::IsAnswer(address) => assert!(address.starts_with('/')),
    }
    let Some(packet) = answer_to(refusal) else { return };
    let Refusal::NotPossible(address, _) = refusal else { panic!("{refusal:?} is answered") };
    let answered = Message::of(&packet).expect("a message");
    assert_eq!((answered.address, answered.tags), (address.as_str(), "is"));
    assert_eq!(answered.data[0], [0; 4]);
    check_silent(&packet);
}

/// A message, read here as the specification of OSC 1.0 has it.
struct Message<'a> {
    address: &'a str,
    /// Without the comma.
    tags: &'a str,
    /// Of each tag that has bytes.
    data: Vec<&'a [u8]>,
}

impl<'a> Message<'a> {
    /// `None`: it is none, or has something behind it.
    fn of(bytes: &'a [u8]) -> Option<Message<'a>> {
        let (address, rest) = text(bytes)?;
        let (tags, mut rest) = text(rest)?;
        let tags = tags.strip_prefix(',')?;
        let (mut data, mut depth) = (Vec::new(), 0usize);
        for tag in tags.chars() {
            let size = match tag {
                '[' => {
                    depth += 1;
                    continue;
                }
                ']' => {
                    depth = depth.checked_sub(1)?;
                    continue;
                }
                'T' | 'F' | 'N' | 'I' => continue,
                'i' | 'f' | 'c' | 'r' | 'm' => 4,
                'h' | 'd' | 't' => 8,
                's' => padded(text_length(rest)? + 1),
                'b' => 4 + padded(u32::from_be_bytes(*rest.first_chunk()?) as usize),
                _ => return None,
            };
            let (own, behind) = rest.split_at_checked(size)?;
            data.push(own);
            rest = behind;
        }
        let is_whole = address.starts_with('/') && depth == 0 && rest.is_empty();
        is_whole.then_some(Message { address, tags, data })
    }
}

fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// How many bytes are in front of the first zero.
fn text_length(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == 0)
}

/// A text, and what is behind its zeros.
fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let length = text_length(bytes)?;
    let (own, behind) = bytes.split_at_checked(padded(length + 1))?;
    Some((std::str::from_utf8(&own[..length]).ok()?, behind))
}
