use proptest::prelude::*;
use rosc::{OscBundle, OscTime};

use super::*;

fn message(addr: &str, args: Vec<OscType>) -> OscPacket {
    OscPacket::Message(OscMessage { addr: addr.into(), args })
}

fn bundle(content: Vec<OscPacket>) -> OscPacket {
    OscPacket::Bundle(OscBundle { timetag: OscTime { seconds: 1, fractional: 0 }, content })
}

/// Without the addresses.
fn read(packet: &OscPacket) -> Vec<Result<Request, Refusal>> {
    requests_of(&rosc::encoder::encode(packet).unwrap())
}

fn requests_of(bytes: &[u8]) -> Vec<Result<Request, Refusal>> {
    requests(bytes).into_iter().map(|asked| Ok(asked?.1)).collect()
}

#[track_caller]
fn check(addr: &str, args: Vec<OscType>, expected: Request) {
    assert_eq!(read(&message(addr, args)), [Ok(expected)], "{addr}");
}

#[track_caller]
fn check_refused(addr: &str, args: Vec<OscType>, word: &str) {
    match &read(&message(addr, args))[..] {
        [Err(Refusal::NotPossible(told, why))] if told == addr => {
            assert!(why.contains(word), "{addr}: {why}");
        }
        other => panic!("{addr}: {other:?}"),
    }
}

#[test]
fn addresses_ask_for_what_they_say() {
    use OscType::{Bool, Double, Float, Int, Long, String as Text};
    check("/play", vec![], Request::Play);
    // A button sends whether it is pressed.
    check("/stop", vec![Float(1.0)], Request::Stop);
    check("/status", vec![], Request::Status);
    check("/notes/off", vec![], Request::EndNotes);
    check("/quit", vec![], Request::Quit);
    for seconds in [Int(2), Long(2), Float(2.0), Double(2.0), Text("2".into())] {
        check("/locate", vec![seconds], Request::Locate(Position::Seconds(2.0)));
    }
    check("/locate", vec![Text("9:3".into())], Request::Locate(Position::Bar(9, 3)));
    let (from, to) = (Position::Bar(2, 1), Position::Seconds(8.0));
    check("/loop", vec![Text("2:1".into()), Int(8)], Request::Loop(from, to));
    check("/loop", vec![Text("off".into())], Request::LoopOff);
    check("/loop", vec![Int(1)], Request::LoopOn);
    check("/schedule", vec![Text("steal".into())], Request::Schedule(ScheduleArg::Steal));
    check("/schedule", vec![Text("auto".into())], Request::Schedule(ScheduleArg::Auto));
    check("/wait", vec![Text("spin".into())], Request::Wait(WaitArg::Spin));
    check("/spans", vec![Text("cpu-time".into())], Request::Spans(Spans::CpuTime));
    check("/spans", vec![Text("off".into())], Request::Spans(Spans::Off));
    check("/policy", vec![Text("all".into())], Request::Policy(SiblingPolicy::All));
    let strip = |name: &str, change| Request::Strip(name.into(), change);
    check("/strip/Kick/volume", vec![Float(-6.5)], strip("Kick", StripChange::Volume(-6.5)));
    check("/strip/Kick/pan", vec![Int(-1)], strip("Kick", StripChange::Pan(-1.0)));
    check("/strip/Room%20Mic/mute", vec![Bool(true)], strip("Room Mic", StripChange::Mute(true)));
    check("/strip/a/b/solo", vec![Float(0.0)], strip("a/b", StripChange::Solo(false)));
    check("/strip/100%/solo", vec![Int(1)], strip("100%", StripChange::Solo(true)));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_address() {
    use OscType::{Float, Int, Nil, String as Text};
    check_refused("/locate", vec![], "one position");
    check_refused("/locate", vec![Float(f32::NAN)], "seconds");
    check_refused("/locate", vec![Text("soon".into())], "9:1");
    check_refused("/wait", vec![Text("sleep".into())], "give the name of a wait: spin, pause,");
    check_refused("/wait", vec![Int(1)], "hybrid, futex");
    check_refused("/loop", vec![], "two positions");
    check_refused("/loop", vec![Nil], "two positions");
    check_refused("/loop", vec![Int(1), Text("x".into())], "9:1");
    check_refused("/strip/Kick/volume", vec![], "number");
    check_refused("/strip/Kick/mute", vec![Text("on".into())], "1 or 0");
    check_refused("/schedule", vec![], "serial, lists");
    check_refused("/schedule", vec![Text("fast".into())], "serial, lists");
    check_refused("/strip/%ff/mute", vec![Int(1)], "no text");
    for addr in ["/", "/plays", "/strip", "/strip/Kick", "/strip/Kick/gain", "/play/"] {
        assert_eq!(read(&message(addr, vec![])), [Err(Refusal::Unknown(addr.into()))]);
    }
}

#[test]
fn bundles_keep_their_order_and_a_damaged_one_is_refused_as_a_whole() {
    let inner = bundle(vec![message("/stop", vec![]), message("/nothing", vec![])]);
    let outer = bundle(vec![message("/play", vec![]), inner, message("/status", vec![])]);
    let expected = [
        Ok(Request::Play),
        Ok(Request::Stop),
        Err(Refusal::Unknown("/nothing".into())),
        Ok(Request::Status),
    ];
    assert_eq!(read(&outer), expected);
    let bytes = rosc::encoder::encode(&outer).unwrap();
    for length in 0..bytes.len() {
        let cut = requests_of(&bytes[..length]);
        // A bundle without elements, or with the first ones alone, is a bundle.
        let is_whole = cut.iter().zip(&expected).all(|(got, all)| got == all);
        let is_refused = matches!(&cut[..], [Err(Refusal::Malformed(_))]);
        assert!(is_whole || is_refused, "{length}: {cut:?}");
    }
}

#[test]
fn what_is_behind_the_last_element_is_refused_at_any_depth() {
    let framed = |elements: &[&[u8]]| {
        let mut bytes = b"#bundle\0\0\0\0\0\0\0\0\x01".to_vec();
        for element in elements {
            bytes.extend((element.len() as u32).to_be_bytes());
            bytes.extend(*element);
        }
        bytes
    };
    let play: &[u8] = b"/play\0\0\0,\0\0\0";
    let wrap = |inner: &[u8]| requests_of(&framed(&[play, inner]));
    assert_eq!(wrap(&framed(&[play])), [Ok(Request::Play), Ok(Request::Play)]);
    let more = |bytes: &[u8], more: &[u8]| [bytes, more].concat();
    for inner in [
        // A message with four bytes too many.
        more(play, &[0; 4]),
        // A size without its element, one that is too large, one that overflows, and half a size.
        more(&framed(&[play]), &[0, 0, 0, 12]),
        more(&framed(&[play]), &more(&[0, 0, 0, 16], play)),
        more(&framed(&[play]), &more(&[255, 255, 255, 252], play)),
        more(&framed(&[play]), &[0, 0]),
        // No element is empty or ends between two words.
        more(&framed(&[play]), &[0; 4]),
        more(&framed(&[play]), b"\0\0\0\x0d/play\0\0\0,\0\0\0\0\0\0\0"),
        // A second message of rubbish.
        framed(&[play, b"play"]),
        b"#bundle\0\0\0\0\0".to_vec(),
    ] {
        let asked = wrap(&inner);
        assert!(matches!(&asked[..], [Err(Refusal::Malformed(_))]), "{inner:?}: {asked:?}");
    }
}

#[test]
fn type_tags_are_whole_or_nothing_is_obeyed() {
    let volume = |tags: &[u8], args: &[f32]| {
        let args: Vec<u8> = args.iter().flat_map(|arg| arg.to_be_bytes()).collect();
        requests_of(&[b"/strip/a/volume\0", tags, &args].concat())
    };
    let obeyed = Request::Strip("a".into(), StripChange::Volume(-6.0));
    assert_eq!(volume(b",f\0\0", &[-6.0]), [Ok(obeyed)]);
    for (tags, args) in [
        (b",f[f\0\0\0\0".as_slice(), [24.0, -6.0].as_slice()),
        (b",[f\0", &[-6.0]),
        (b",f]\0", &[-6.0]),
        (b"xf\0\0", &[-6.0]),
        (b"f\0\0\0", &[-6.0]),
        (b"\0\0\0\0", &[]),
    ] {
        let asked = volume(tags, args);
        assert!(matches!(&asked[..], [Err(Refusal::Malformed(_))]), "{tags:?}: {asked:?}");
    }
}

#[test]
fn answers_of_another_run_are_no_requests() {
    use OscType::{Double, Float, Int, String as Text};
    let text = || Text("1.1.000".into());
    let status = vec![Double(0.0), text(), Int(1), Float(0.5), Int(0), text(), text(), text()];
    for (addr, args) in [
        ("/status", status),
        ("/strip/a/effect/add", vec![Int(0), Text("give the kind of an effect".into())]),
        ("/strip/a/effect/remove", vec![Int(1), Text("removed eq".into())]),
    ] {
        let refused = Err(Refusal::IsAnswer(addr.into()));
        assert_eq!(read(&message(addr, args)), [refused]);
    }
    // Whoever asks may send what a button sends.
    check("/status", vec![Float(1.0)], Request::Status);
}

#[test]
fn depth_and_size_have_bounds() {
    let nested = |depth| (0..depth).fold(message("/play", vec![]), |inner, _| bundle(vec![inner]));
    assert_eq!(read(&nested(DEEPEST)), [Ok(Request::Play)]);
    for deep in [nested(DEEPEST + 1), nested(90)] {
        assert!(matches!(&read(&deep)[..], [Err(Refusal::Malformed(_))]));
    }
    let long = vec![b'/'; LARGEST + 1];
    assert!(matches!(&requests_of(&long)[..], [Err(Refusal::Malformed(_))]));
    // The deepest array that a packet can hold.
    let half = (LARGEST - 8) / 2 - 4;
    let tags = format!("/x\0\0,{}{}", "[".repeat(half), "]".repeat(half));
    let mut bytes = tags.into_bytes();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    assert_eq!(requests_of(&bytes), [Err(Refusal::Unknown("/x".into()))]);
}

#[test]
fn effects_join_and_leave() {
    let text = |text: &str| OscType::String(text.into());
    let asks = |what: &str, args| read(&message(&format!("/strip/Room%20Mic/effect/{what}"), args));
    let expected = |change| [Ok(Request::Effects("Room Mic".into(), change))];
    let add = |isolate, force| {
        expected(EffectChange::Add { kind: "eq".into(), entry: Entry { isolate, force } })
    };
    assert_eq!(asks("add", vec![text("eq")]), add(false, false));
    assert_eq!(asks("add", vec![text("eq"), text("force")]), add(false, true));
    let both = vec![text("eq"), text("force"), text("isolate")];
    assert_eq!(asks("add", both), add(true, true));
    assert_eq!(asks("remove", vec![OscType::Float(2.0)]), expected(EffectChange::Remove(2)));
    let refused = |what: &str, args| {
        let asked = asks(what, args);
        assert!(matches!(&asked[..], [Err(Refusal::NotPossible(..))]), "{asked:?}");
    };
    refused("add", vec![]);
    refused("add", vec![OscType::Int(1)]);
    refused("add", vec![text("eq"), text("now")]);
    for place in [0.0, -1.0, 1.5, f32::NAN, 1e9] {
        refused("remove", vec![OscType::Float(place)]);
    }
    assert!(matches!(asks("move", vec![])[..], [Err(Refusal::Unknown(_))]));
}

/// Bytes that look like OSC: pieces of packets in any order.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"#bundle\0".to_vec()),
        Just(b"/play\0\0\0".to_vec()),
        Just(b"/strip/a/volume\0".to_vec()),
        Just(b"/locate\0".to_vec()),
        Just(b",f\0\0".to_vec()),
        Just(b",s\0\0".to_vec()),
        Just(b",[[]b\0\0\0".to_vec()),
        any::<u32>().prop_map(|word| word.to_be_bytes().to_vec()),
        (0u32..64).prop_map(|word| word.to_be_bytes().to_vec()),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_ask_for_more_than_they_hold(
        bytes in prop_oneof![pieces(), prop::collection::vec(any::<u8>(), 0..LARGEST + 8)],
    ) {
        // A message has 4 bytes at least.
        prop_assert!(requests(&bytes).len() <= bytes.len() / 4 + 1);
    }

    #[test]
    fn a_strip_keeps_its_name(name in "[^\\x00]{1,30}", on: bool) {
        let hex = |byte: u8| match byte {
            b'a'..=b'z' => char::from(byte).to_string(),
            byte => format!("%{byte:02x}"),
        };
        let addr = format!("/strip/{}/mute", name.bytes().map(hex).collect::<String>());
        let expected = Request::Strip(name, StripChange::Mute(on));
        prop_assert_eq!(read(&message(&addr, vec![OscType::Bool(on)])), [Ok(expected)]);
    }
}
