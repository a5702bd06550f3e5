//! Events between nodes: what the calls refuse, and what arrives.

use super::*;
use hocket_c::events::*;
use hocket_c::graph_ports::*;

const FRAMES: u32 = 64;

fn processor(process: ProcessFn, user: *mut c_void) -> Processor {
    Processor { user, process, cost: 1.0, ..Processor::default() }
}

fn message(frame: u32, kind: u32, data: [u32; 4], value: f64) -> Message {
    Message { frame, kind, data, value }
}

fn note(frame: u32, kind: u32, key: u32) -> Message {
    message(frame, kind, [0, key, HOCKET_ANY, 0], 0.5)
}

/// All messages of a block.
unsafe fn messages(block: *const Block) -> Vec<Message> {
    // SAFETY: told: the block of the running callback.
    unsafe {
        let mut all = vec![note(0, 0, 0); (*block).message_count];
        for (index, message) in all.iter_mut().enumerate() {
            assert_eq!(hocket_message_at(block, index, message), Status::Ok);
        }
        let mut none = note(0, 0, 0);
        assert_eq!(hocket_message_at(block, all.len(), &mut none), Status::BadInput);
        all
    }
}

/// Sends every message on, and notes an octave higher after them.
unsafe extern "C" fn sends_on(_user: *mut c_void, block: *const Block) {
    // SAFETY: told.
    unsafe {
        for own in messages(block) {
            assert_eq!(hocket_message_send(block, &own), Status::Ok);
            if own.kind == HOCKET_MESSAGE_NOTE_ON {
                let mut higher = own;
                higher.data[1] += 12;
                assert_eq!(hocket_message_send(block, &higher), Status::Ok);
            }
        }
        let strange = note(0, 99, 0);
        assert_eq!(hocket_message_send(block, &strange), Status::BadInput);
    }
}

/// Appends what it receives to the list of its user.
unsafe extern "C" fn hears(user: *mut c_void, block: *const Block) {
    // SAFETY: told: the list outlives the engine, and nobody else uses it inside a block.
    unsafe {
        (*user.cast::<Vec<Message>>()).extend(messages(block));
        let deaf = hocket_message_send(block, &note(0, HOCKET_MESSAGE_NOTE_ON, 1));
        assert_eq!(deaf, Status::BadInput, "a node without event output");
    }
}

fn set_ports(graph: *mut Graph, node: u32, reads: bool, writes: bool) -> String {
    // SAFETY: told.
    told(|error| unsafe { hocket_graph_set_event_ports(graph, node, reads, writes, error) }).1
}

fn connect(graph: *mut Graph, from: u32, to: u32) -> String {
    // SAFETY: told.
    told(|error| unsafe { hocket_graph_connect_events(graph, from, to, error) }).1
}

/// A keyboard (0), a node that sends on (1), one that hears (2), a sum (3).
unsafe fn graph(heard: *mut Vec<Message>) -> *mut Graph {
    // SAFETY: told.
    unsafe {
        let (graph, none) = (hocket_graph_new(), null_mut());
        hocket_graph_add_input(graph, c"keyboard".as_ptr(), 5, 1, none);
        let on = processor(Some(sends_on), null_mut());
        hocket_graph_add_node(graph, c"sends on".as_ptr(), &on, none);
        let ears = processor(Some(hears), heard.cast());
        hocket_graph_add_node(graph, c"hears".as_ptr(), &ears, none);
        hocket_graph_add_node(graph, c"sum".as_ptr(), null(), none);
        let outputs = [3];
        assert_eq!(hocket_graph_set_outputs(graph, outputs.as_ptr(), 1, none), Status::Ok);
        graph
    }
}

/// What an output's node sent in the last block. `None`: it is refused.
fn output_messages(engine: *const Engine, output: u32) -> Option<Vec<Message>> {
    let (mut all, mut count) = (vec![note(0, HOCKET_MESSAGE_NOTE_ON, 0); 100], 77);
    let mut read = |all: &mut [Message], room| {
        // SAFETY: told.
        unsafe { hocket_engine_read_messages(engine, output, all.as_mut_ptr(), room, &mut count) }
    };
    let statuses = [read(&mut all, 1), read(&mut all, 100)];
    assert!(count <= 100 && statuses[0] == statuses[1]);
    all.truncate(count);
    (statuses[0] == Status::Ok).then_some(all)
}

#[test]
fn event_ports_and_edges_that_cannot_be_are_refused() {
    let mut heard = Vec::new();
    // SAFETY: told.
    let graph = unsafe { graph(&mut heard) };
    assert!(set_ports(graph, 3, true, false).contains("node 'sum' cannot have these event ports"));
    assert!(set_ports(graph, 0, true, true).contains("an engine input may write them"));
    assert!(set_ports(graph, 9, true, true).contains("there is no node 9"));
    assert!(connect(graph, 0, 1).contains("no event"));
    assert_eq!(set_ports(graph, 0, false, true) + &set_ports(graph, 1, true, true), "");
    assert_eq!(set_ports(graph, 2, true, true), "");
    assert_eq!(connect(graph, 0, 1) + &connect(graph, 1, 2), "");
    let cycle = connect(graph, 2, 1);
    let path = "cycle: sends on -> hears -> sends on; remove an edge";
    assert!(cycle.contains(path) && !cycle.contains("feed_back"), "{cycle}");
    let used = set_ports(graph, 1, true, false);
    assert!(used.contains("'sends on'"), "an edge needs it: {used}");
    let edge = Edge {
        from: 1,
        to: 1,
        gain_lin: 1.0,
        port: HOCKET_PORT_EVENTS,
        channels: 0,
        from_channel: 0,
        to_channel: 0,
    };
    // SAFETY: told.
    let back = told(|error| unsafe { hocket_graph_feed_back(graph, &edge, error) }).1;
    assert!(back.contains("feeds events back"), "{back}");
    // SAFETY: told.
    unsafe { hocket_graph_free(graph) };
}

#[test]
fn messages_of_the_host_travel_through_nodes_at_their_frames() {
    let mut heard: Vec<Message> = Vec::new();
    // SAFETY: told: `heard` outlives the engine.
    unsafe {
        let graph = graph(&raw mut heard);
        assert_eq!(set_ports(graph, 0, false, true) + &set_ports(graph, 1, true, true), "");
        assert_eq!(set_ports(graph, 2, true, false), "");
        assert_eq!(connect(graph, 0, 1) + &connect(graph, 1, 2), "");
        assert_eq!(hocket_graph_set_outputs(graph, [3, 1].as_ptr(), 2, null_mut()), Status::Ok);
        let (engine, text) = told(|error| hocket_engine_start_graph(graph, &settings(), error));
        assert_eq!(text, "");
        let sent = [
            message(70, HOCKET_MESSAGE_PARAM, [7, 0, 0, 0], -2.5),
            message(3, HOCKET_MESSAGE_MIDI, [0xb2, 64, 127, 0], 0.0),
            note(9, HOCKET_MESSAGE_NOTE_ON, 60),
            message(9, HOCKET_MESSAGE_PACKET, [0x4090_3c00, 0x8000_0000, 0, 0], 0.0),
            message(80, HOCKET_MESSAGE_NOTE_OFF, [HOCKET_ANY, HOCKET_ANY, HOCKET_ANY, 0], 0.0),
            message(81, HOCKET_MESSAGE_END_ALL_NOTES, [0; 4], 0.0),
        ];
        let mut taken = 99;
        let write = |input, messages: &[Message], taken: &mut usize| {
            hocket_engine_write_messages(engine, input, messages.as_ptr(), messages.len(), taken)
        };
        assert_eq!(write(4, &sent, &mut taken), Status::BadInput, "no such input");
        for wrong in [
            message(0, HOCKET_MESSAGE_MIDI, [0x12, 0, 0, 0], 0.0),
            message(0, HOCKET_MESSAGE_MIDI, [0x190, 60, 1, 0], 0.0),
            note(0, HOCKET_MESSAGE_NOTE_ON, HOCKET_ANY),
            note(0, HOCKET_MESSAGE_NOTE_ON, 128),
            message(0, HOCKET_MESSAGE_PARAM, [0; 4], f64::NAN),
            message(0, 8, [0; 4], 0.0),
        ] {
            assert_eq!(write(5, &[wrong], &mut taken), Status::BadInput, "{wrong:?}");
            assert_eq!(taken, 0);
        }
        assert_eq!(write(5, &sent, &mut taken), Status::Ok);
        assert_eq!(taken, sent.len());
        let mut sent_on = Vec::new();
        for _ in 0..2 {
            assert_eq!(hocket_engine_run(engine, FRAMES, hocket_now_ns(), null_mut()), Status::Ok);
            sent_on.extend(output_messages(engine, 1).unwrap());
        }
        assert!([0, 2].iter().all(|output| output_messages(engine, *output).is_none()));
        let higher = note(9, HOCKET_MESSAGE_NOTE_ON, 72);
        let late = |own: Message| Message { frame: own.frame - FRAMES, ..own };
        let [param, pedal, on, packet, off, all] = sent;
        assert_eq!(heard, [pedal, on, higher, packet, late(param), late(off), late(all)]);
        assert_eq!(sent_on, heard, "the host reads the same");
        heard.clear();
        let many = vec![note(0, HOCKET_MESSAGE_NOTE_ON, 1); 2000];
        assert_eq!(write(5, &many, &mut taken), Status::Ok);
        assert_eq!(taken, 1024, "the host has the others");
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
}

/// What a player chases.
const CHASED: usize = 2_500;

/// Sends more than a port takes otherwise. The user counts what found room.
unsafe extern "C" fn chases(user: *mut c_void, block: *const Block) {
    let sent = (0..CHASED as u32).map(|n| note(0, HOCKET_MESSAGE_NOTE_ON, n % 128));
    // SAFETY: told: the counter outlives the engine.
    let send = |message| unsafe { hocket_message_send(block, &message) };
    let stored = sent.map(send).filter(|status| *status == Status::Ok).count();
    // SAFETY: told.
    unsafe { (*user.cast::<AtomicI32>()).store(stored as i32, Relaxed) };
}

#[test]
fn a_processor_that_sends_much_at_a_jump_has_room_for_it() {
    // Of 64 frames: the block's beginning and a jump.
    for (events_per_jump, expected) in [(0, 1024), (738, 2500), (u32::MAX, 2500)] {
        let (stored, mut heard) = (AtomicI32::new(0), Vec::<Message>::new());
        // SAFETY: told: both outlive the engine.
        unsafe {
            let (graph, none) = (hocket_graph_new(), null_mut());
            let user = std::ptr::from_ref(&stored).cast_mut().cast();
            let player = Processor { events_per_jump, ..processor(Some(chases), user) };
            hocket_graph_add_node(graph, c"player".as_ptr(), &player, none);
            let ears = processor(Some(hears), (&raw mut heard).cast());
            hocket_graph_add_node(graph, c"hears".as_ptr(), &ears, none);
            assert_eq!(hocket_graph_set_outputs(graph, [1].as_ptr(), 1, none), Status::Ok);
            assert_eq!(set_ports(graph, 0, false, true) + &set_ports(graph, 1, true, false), "");
            assert_eq!(connect(graph, 0, 1), "");
            let (engine, text) = told(|error| hocket_engine_start_graph(graph, &settings(), error));
            assert_eq!(text, "");
            assert_eq!(hocket_engine_run(engine, FRAMES, hocket_now_ns(), null_mut()), Status::Ok);
            let counts = (stored.load(Relaxed), heard.len());
            assert_eq!(counts, (expected, expected as usize), "{events_per_jump} per jump");
            assert_eq!(hocket_engine_stop(engine), Status::Ok);
        }
    }
}

const SYSEX: [u8; 5] = [0xf0, 0x7d, 1, 2, 0xf7];

/// The bytes of a block's first message.
unsafe fn sysex(block: *const Block) -> Vec<u8> {
    let (mut bytes, mut count) = (null(), 0);
    // SAFETY: told: the block of the running callback.
    unsafe {
        assert_eq!(hocket_message_sysex(block, 0, &mut bytes, &mut count), Status::Ok);
        assert_eq!(hocket_message_sysex(block, 9, &mut bytes, &mut count), Status::BadInput);
        std::slice::from_raw_parts(bytes, count).to_vec()
    }
}

/// Sends a system-exclusive message on, twice.
unsafe extern "C" fn sends_sysex(_: *mut c_void, block: *const Block) {
    // SAFETY: told.
    unsafe {
        for own in messages(block) {
            assert_eq!((own.kind, own.data[0]), (HOCKET_MESSAGE_SYSEX, 5));
            assert_eq!(hocket_message_send(block, &own), Status::BadInput, "it has no bytes");
            let (bytes, send) = (sysex(block), hocket_message_send_sysex);
            for _ in 0..2 {
                assert_eq!(send(block, own.frame, bytes.as_ptr(), bytes.len()), Status::Ok);
            }
            assert_eq!(send(block, 0, bytes.as_ptr(), 4), Status::BadInput, "its end is missing");
            let long = [&[0xf0][..], &[1; 4096], &[0xf7]].concat();
            assert_eq!(send(block, 0, long.as_ptr(), long.len()), Status::Busy);
        }
    }
}

/// Appends the messages, and asserts their bytes.
unsafe extern "C" fn hears_sysex(user: *mut c_void, block: *const Block) {
    // SAFETY: told: the list outlives the engine, and nobody else uses it inside a block.
    unsafe {
        let found = messages(block);
        assert!(found.is_empty() || sysex(block) == SYSEX);
        (*user.cast::<Vec<Message>>()).extend(found);
    }
}

#[test]
fn system_exclusive_messages_travel_with_their_bytes() {
    let mut heard: Vec<Message> = Vec::new();
    // SAFETY: told: `heard` outlives the engine.
    unsafe {
        let (graph, none) = (hocket_graph_new(), null_mut());
        hocket_graph_add_input(graph, c"keyboard".as_ptr(), 5, 1, none);
        let on = processor(Some(sends_sysex), null_mut());
        hocket_graph_add_node(graph, c"sends on".as_ptr(), &on, none);
        let ears = processor(Some(hears_sysex), (&raw mut heard).cast());
        hocket_graph_add_node(graph, c"hears".as_ptr(), &ears, none);
        assert_eq!(hocket_graph_set_outputs(graph, [2, 1].as_ptr(), 2, none), Status::Ok);
        assert_eq!(set_ports(graph, 0, false, true) + &set_ports(graph, 1, true, true), "");
        assert_eq!(set_ports(graph, 2, true, false), "");
        assert_eq!(connect(graph, 0, 1) + &connect(graph, 1, 2), "");
        let (engine, text) = told(|error| hocket_engine_start_graph(graph, &settings(), error));
        assert_eq!(text, "");
        let write = |input, bytes: &[u8]| {
            hocket_engine_write_sysex(engine, input, 7, bytes.as_ptr(), bytes.len())
        };
        assert_eq!(write(5, &SYSEX), Status::Ok);
        assert_eq!(write(4, &SYSEX), Status::BadInput, "no such input");
        for wrong in [&SYSEX[1..], &[], &[0xf0], &[0xf0, 0x80, 0xf7]] {
            assert_eq!(write(5, wrong), Status::BadInput, "{wrong:?}");
        }
        assert_eq!(hocket_engine_run(engine, FRAMES, hocket_now_ns(), null_mut()), Status::Ok);
        let one = message(7, HOCKET_MESSAGE_SYSEX, [5, 0, 0, 0], 0.0);
        assert_eq!(heard, [one, one]);
        assert_eq!(output_messages(engine, 1).unwrap(), [one, one]);
        let (mut bytes, mut count) = ([0; 5], 0);
        let read = |index, bytes: &mut [u8], count: &mut usize| {
            hocket_engine_read_sysex(engine, 1, index, bytes.as_mut_ptr(), bytes.len(), count)
        };
        assert_eq!(read(1, &mut bytes, &mut count), Status::Ok);
        assert_eq!((bytes, count), (SYSEX, 5));
        assert_eq!(read(0, &mut bytes[..2], &mut count), Status::Ok);
        assert_eq!(count, 5, "there is more than had room");
        assert_eq!(read(2, &mut bytes, &mut count), Status::BadInput);
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
}
