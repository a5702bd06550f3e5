//! Events between nodes: notes, MIDI, and changes of parameters on event edges.

use std::cell::RefCell;

use hocket_engine::time::{
    Event, EventBuffer, EventKind, Midi1, Note, NoteAction, Pushed, Source, Ump,
};
use hocket_engine::{Block as EngineBlock, Edge, EventPorts, EventsOut, NodeId};

use crate::border::{done, quiet};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::graph::{Graph, building};
use crate::host::bytes_of;
use crate::process::lead;
use crate::processor::Block;
use crate::status::{Error, Status};
use crate::time::listed;

/// A message of MIDI 1.0: its bytes are `data[0]` to `data[2]`, 0 where it has fewer.
pub const HOCKET_MESSAGE_MIDI: u32 = 0;
/// A Universal MIDI Packet: its words are `data`, 0 where it has fewer.
pub const HOCKET_MESSAGE_PACKET: u32 = 1;
/// A note starts: `data[0]` is the channel, `data[1]` the key (60 is middle C), `data[2]` the note's id, and `value` the
/// velocity, 0 to 1. `HOCKET_ANY` for no id.
pub const HOCKET_MESSAGE_NOTE_ON: u32 = 2;
/// A note is released. Fields as in `HOCKET_MESSAGE_NOTE_ON`. `HOCKET_ANY` for every channel, key or id.
pub const HOCKET_MESSAGE_NOTE_OFF: u32 = 3;
/// A note stops at once. Fields as in `HOCKET_MESSAGE_NOTE_OFF`.
pub const HOCKET_MESSAGE_NOTE_CHOKE: u32 = 4;
/// A processor reports that a note has ended. Fields as in `HOCKET_MESSAGE_NOTE_OFF`.
pub const HOCKET_MESSAGE_NOTE_END: u32 = 5;
/// A parameter gets `value`: `data[0]` is the parameter.
pub const HOCKET_MESSAGE_PARAM: u32 = 6;
/// Every note ends and every pedal is released. Every instrument has to take it.
pub const HOCKET_MESSAGE_END_ALL_NOTES: u32 = 7;
/// A system-exclusive message of `data[0]` bytes: `hocket_message_sysex` has them. It is sent by
/// `hocket_message_send_sysex` and `hocket_engine_write_sysex`.
pub const HOCKET_MESSAGE_SYSEX: u32 = 8;
/// Stands for every channel, every key or every note.
pub const HOCKET_ANY: u32 = u32::MAX;

/// What travels on an event edge.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Message {
    /// Frame, counted from the start of the block.
    pub frame: u32,
    /// What it is: `HOCKET_MESSAGE_MIDI` and so on. It says what the other fields mean. They are 0 if it says nothing.
    pub kind: u32,
    /// See the kinds.
    pub data: [u32; 4],
    /// See the kinds.
    pub value: f64,
}

/// The event ports of a node in one block, for `hocket_message_at` and `hocket_message_send`. It ends with the callback
/// that gets it.
pub struct Messages {
    _opaque: [u8; 0],
}

/// What a [`Messages`] points to.
pub(crate) struct Mail<'a> {
    received: &'a [Event],
    /// Where the bytes of system-exclusive messages are.
    buffer: Option<&'a EventBuffer>,
    sends: RefCell<Option<EventsOut<'a>>>,
}

impl<'a> Mail<'a> {
    pub(crate) fn of(block: &mut EngineBlock<'a>) -> Mail<'a> {
        let (received, buffer) = (block.received(), block.events_in);
        Mail { received, buffer, sends: RefCell::new(block.events_out.take()) }
    }

    pub(crate) fn count(&self) -> usize {
        self.received.len()
    }

    /// For the block that a callback gets.
    pub(crate) fn handle(&self) -> *const Messages {
        std::ptr::from_ref(self).cast()
    }
}

/// Says whether a node reads events and whether it writes them. A new node does neither. An engine input may write: it
/// sends on what the host hands over (`hocket_engine_write_messages`). Other nodes need a processor of the host. The
/// call refuses to take away a port that an event edge needs.
///
/// Thread: control. Cost: O(edges).
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_set_event_ports(
    graph: *mut Graph,
    node: u32,
    reads: bool,
    writes: bool,
    error: *mut *mut Error,
) -> Status {
    let events = EventPorts { input: reads, output: writes };
    // SAFETY: P, H, G.
    unsafe { done(error, || building(graph)?.set_event_ports(node, events)) }
}

/// Brings the events that node `from` writes to node `to`: notes, MIDI and changes of parameters, at exact frames and
/// delayed as audio is. It is an edge as others are: it must not close a cycle, and `hocket_graph_remove_edge` removes
/// it. If it goes, the notes that it started end. Those of a node that keeps time end where the song stops or jumps.
///
/// Thread: control. Cost: as `hocket_graph_add_edge`.
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_connect_events(
    graph: *mut Graph,
    from: u32,
    to: u32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G.
    unsafe { done(error, || building(graph)?.connect(Edge::events(NodeId(from)), to)) }
}

/// Hands messages over for an engine input whose node writes events. Frames count from the first one of the next
/// block. Messages may come in any order, and those behind the block wait. `taken` gets how many of them the engine took,
/// counted from the first. The host still has the others: an input takes 1024 messages per block, and note ends besides.
/// It refuses an input that the graph does not have, and a message that is none. `taken` may be NULL.
///
/// Thread: leader, between blocks. Cost: O(count) in order of frames. It does not allocate and does not wait.
///
/// # Safety
/// P (`messages` has `count` messages), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_write_messages(
    engine: *const Engine,
    input: u16,
    messages: *const Message,
    count: usize,
    taken: *mut usize,
) -> Status {
    if messages.is_null() && count > 0 {
        return Status::BadInput;
    }
    // SAFETY: P, and not null.
    let Ok(messages) = (unsafe { listed(messages, count, "messages") }) else {
        return Status::BadInput;
    };
    let (mut fits, mut stored) = (false, 0);
    // SAFETY: P, H.
    let status = unsafe {
        lead(engine, |leading| {
            let Some(events) = leading.events_mut(input) else { return };
            fits = true;
            for message in messages {
                let Some(kind) = message.read() else { return fits = false };
                if events.push(Event::new(message.frame, Source::LIVE, kind)) == Pushed::Refused {
                    return;
                }
                stored += 1;
            }
        })
    };
    // SAFETY: P.
    if let Some(taken) = unsafe { taken.as_mut() } {
        *taken = stored;
    }
    if status == Status::Ok && !fits { Status::BadInput } else { status }
}

/// Writes the message at `index` of a block into `message`. Messages count from 0 to `message_count` of the block, and are
/// sorted by frame, then by edge, then in the order in which they were sent.
///
/// Thread: the worker, inside the callback that got the block. Cost: O(1); no allocation.
///
/// # Safety
/// P (`block` is the one of the running callback).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_message_at(
    block: *const Block,
    index: usize,
    message: *mut Message,
) -> Status {
    // SAFETY: P.
    let (Some(mail), Some(message)) = (unsafe { (mail_of(block), message.as_mut()) }) else {
        return Status::BadInput;
    };
    match mail.received.get(index).map(Message::of) {
        Some(found) => {
            *message = found;
            Status::Ok
        }
        None => Status::BadInput,
    }
}

/// Sends a message to the nodes that read the events of this one. A frame behind the block counts as its last one.
/// `HOCKET_STATUS_BUSY`: there is no room in this block. A port takes 1024 messages per block, and note ends besides; the
/// engine counts the others. It refuses a message that is none, and a node that does not write events.
///
/// Thread: the worker, inside the callback that got the block. Cost: O(1) in order of frames; no allocation.
///
/// # Safety
/// P (`block` is the one of the running callback).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_message_send(
    block: *const Block,
    message: *const Message,
) -> Status {
    // SAFETY: P.
    let (Some(mail), Some(message)) = (unsafe { (mail_of(block), message.as_ref()) }) else {
        return Status::BadInput;
    };
    quiet(Status::Fault, || {
        let mut sends = mail.sends.borrow_mut();
        let (Some(sends), Some(kind)) = (sends.as_mut(), message.read()) else {
            return Status::BadInput;
        };
        stored(sends.send(message.frame, kind))
    })
}

/// Stores where the bytes of the system-exclusive message at `index` of a block are, from 0xF0 to 0xF7. They are valid until
/// the callback returns. It refuses messages of other kinds.
///
/// Thread: the worker, inside the callback that got the block. Cost: O(1); no allocation.
///
/// # Safety
/// P (`block` is the one of the running callback).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_message_sysex(
    block: *const Block,
    index: usize,
    bytes: *mut *const u8,
    count: *mut usize,
) -> Status {
    // SAFETY: P.
    let all = unsafe { (mail_of(block), bytes.as_mut(), count.as_mut()) };
    let (Some(mail), Some(bytes), Some(count)) = all else { return Status::BadInput };
    let Some((Event { kind: EventKind::SysEx(message), .. }, buffer)) =
        mail.received.get(index).zip(mail.buffer)
    else {
        return Status::BadInput;
    };
    let found = buffer.sysex(*message);
    (*bytes, *count) = (found.as_ptr(), found.len());
    Status::Ok
}

/// Sends a system-exclusive message: copies `count` bytes, from 0xF0 to 0xF7. A port has room for 4096 bytes of them per
/// block. Otherwise like `hocket_message_send`.
///
/// Thread: the worker, inside the callback that got the block. Cost: a copy; no allocation.
///
/// # Safety
/// P (`block` is the one of the running callback, `bytes` has `count` bytes).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_message_send_sysex(
    block: *const Block,
    frame: u32,
    bytes: *const u8,
    count: usize,
) -> Status {
    // SAFETY: P.
    let all = unsafe { (mail_of(block), sysex_of(bytes, count)) };
    let (Some(mail), Some(bytes)) = all else { return Status::BadInput };
    quiet(Status::Fault, || {
        let mut sends = mail.sends.borrow_mut();
        let Some(sends) = sends.as_mut() else { return Status::BadInput };
        stored(sends.send_sysex(frame, bytes))
    })
}

/// Hands a system-exclusive message over for an engine input whose node writes events: copies `count` bytes, from 0xF0 to
/// 0xF7. `HOCKET_STATUS_BUSY`: there is no room; an input takes 4096 bytes of them per block. Otherwise like
/// `hocket_engine_write_messages`.
///
/// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
///
/// # Safety
/// P (`bytes` has `count` bytes), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_write_sysex(
    engine: *const Engine,
    input: u16,
    frame: u32,
    bytes: *const u8,
    count: usize,
) -> Status {
    // SAFETY: P.
    let Some(bytes) = (unsafe { sysex_of(bytes, count) }) else { return Status::BadInput };
    let mut written = Status::BadInput;
    // SAFETY: P, H.
    let status = unsafe {
        lead(engine, |leading| {
            let Some(events) = leading.events_mut(input) else { return };
            written = stored(events.push_sysex(frame, Source::LIVE, bytes));
        })
    };
    if status == Status::Ok { written } else { status }
}

/// Copies the messages that an output's node sent in the last block, in order of frames: at most `room` of them into
/// `messages`. Stores in `count` how many there are. Frames count from the block's first one; as the output's audio, the
/// messages lag by its latency (`hocket_engine_output`). It refuses an output that the graph does not have, one whose node
/// does not write events, and an engine input. Notes that still sound when the host stops, or when an edit takes the output
/// away, are the host's to end.
///
/// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
///
/// # Safety
/// P (`messages` has room for `room` messages), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_read_messages(
    engine: *const Engine,
    output: u32,
    messages: *mut Message,
    room: usize,
    count: *mut usize,
) -> Status {
    // SAFETY: P.
    let Some(count) = (unsafe { count.as_mut() }) else { return Status::BadInput };
    if messages.is_null() && room > 0 {
        return Status::BadInput;
    }
    let mut found = None;
    // SAFETY: P, H.
    let status = unsafe {
        lead(engine, |leading| {
            let Some(sent) = leading.output_events(output as usize) else { return };
            for (place, event) in sent.all().iter().take(room).enumerate() {
                messages.add(place).write(Message::of(event));
            }
            found = Some(sent.all().len());
        })
    };
    *count = found.unwrap_or(0);
    if status == Status::Ok && found.is_none() { Status::BadInput } else { status }
}

/// Copies the bytes of the system-exclusive message at `index` of those of `hocket_engine_read_messages`, from 0xF0 to
/// 0xF7: at most `room` of them into `bytes`. Stores in `count` how many it has. It refuses messages of other kinds, and
/// otherwise what `hocket_engine_read_messages` refuses.
///
/// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
///
/// # Safety
/// P (`bytes` has room for `room` bytes), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_read_sysex(
    engine: *const Engine,
    output: u32,
    index: usize,
    bytes: *mut u8,
    room: usize,
    count: *mut usize,
) -> Status {
    // SAFETY: P.
    let Some(count) = (unsafe { count.as_mut() }) else { return Status::BadInput };
    if bytes.is_null() && room > 0 {
        return Status::BadInput;
    }
    let mut found = None;
    // SAFETY: P, H.
    let status = unsafe {
        lead(engine, |leading| {
            let Some(sent) = leading.output_events(output as usize) else { return };
            let Some(EventKind::SysEx(message)) = sent.all().get(index).map(|sent| sent.kind)
            else {
                return;
            };
            let message = sent.sysex(message);
            for (place, byte) in message.iter().take(room).enumerate() {
                bytes.add(place).write(*byte);
            }
            found = Some(message.len());
        })
    };
    *count = found.unwrap_or(0);
    if status == Status::Ok && found.is_none() { Status::BadInput } else { status }
}

/// A caller's system-exclusive message. `None`: it is none.
///
/// # Safety
/// P. The lifetime is that of the call.
unsafe fn sysex_of<'a>(bytes: *const u8, count: usize) -> Option<&'a [u8]> {
    // SAFETY: the caller's obligation.
    let bytes = unsafe { bytes_of(bytes.cast(), count) }?;
    let [0xf0, inner @ .., 0xf7] = bytes else { return None };
    inner.iter().all(|byte| *byte < 0x80).then_some(bytes)
}

fn stored(pushed: Pushed) -> Status {
    match pushed {
        Pushed::Refused => Status::Busy,
        Pushed::Stored | Pushed::Merged => Status::Ok,
    }
}

/// # Safety
/// P: the callback that got the block still runs.
unsafe fn mail_of<'a>(block: *const Block) -> Option<&'a Mail<'a>> {
    // SAFETY: the caller's obligation. `Mail::handle` made the pointer from this type.
    unsafe { block.as_ref()?.messages.cast::<Mail<'a>>().as_ref() }
}

impl Message {
    /// What it says. `None`: it is no message.
    fn read(&self) -> Option<EventKind> {
        let Message { kind, data, value, .. } = *self;
        let note = |action| self.note(action).map(EventKind::Note);
        match kind {
            HOCKET_MESSAGE_MIDI => {
                let [status, first, second] = [0, 1, 2].map(|n| u8::try_from(data[n]).ok());
                let bytes = [status?, first?, second?];
                // The status byte says how many bytes there are. The others are 0.
                let message = (1..=3).find_map(|count| Midi1::new(&bytes[..count]).ok())?;
                let rest = bytes[message.as_slice().len()..].iter().all(|byte| *byte == 0);
                rest.then_some(EventKind::Midi(message))
            }
            HOCKET_MESSAGE_PACKET => Some(EventKind::Ump(Ump::new(data))),
            HOCKET_MESSAGE_NOTE_ON => note(NoteAction::On),
            HOCKET_MESSAGE_NOTE_OFF => note(NoteAction::Off),
            HOCKET_MESSAGE_NOTE_CHOKE => note(NoteAction::Choke),
            HOCKET_MESSAGE_NOTE_END => note(NoteAction::End),
            HOCKET_MESSAGE_PARAM if value.is_finite() => Some(EventKind::param(data[0], value)),
            HOCKET_MESSAGE_END_ALL_NOTES => Some(EventKind::EndAllNotes),
            _ => None,
        }
    }

    fn note(&self, action: NoteAction) -> Option<Note> {
        let [channel, key, id, _] = self.data;
        let number = |number: u32, end: u32| match number {
            HOCKET_ANY if action != NoteAction::On => Some(-1),
            number => i8::try_from(number).ok().filter(|_| number < end),
        };
        let id = if id == HOCKET_ANY { Some(-1) } else { i32::try_from(id).ok() };
        let (channel, key) = (number(channel, 16)?, number(key, 128)?);
        let velocity = Some(self.value).filter(|value| (0.0..=1.0).contains(value))?;
        Some(Note { action, id: id?, channel, key, velocity })
    }

    fn of(event: &Event) -> Message {
        let of = |kind, data, value| Message { frame: event.frame, kind, data, value };
        match event.kind {
            EventKind::Midi(message) => {
                let [status, first, second] = message.bytes().map(u32::from);
                of(HOCKET_MESSAGE_MIDI, [status, first, second, 0], 0.0)
            }
            EventKind::Ump(packet) => of(HOCKET_MESSAGE_PACKET, packet.words(), 0.0),
            EventKind::Note(note) => {
                let kind = match note.action {
                    NoteAction::On => HOCKET_MESSAGE_NOTE_ON,
                    NoteAction::Off => HOCKET_MESSAGE_NOTE_OFF,
                    NoteAction::Choke => HOCKET_MESSAGE_NOTE_CHOKE,
                    NoteAction::End => HOCKET_MESSAGE_NOTE_END,
                };
                let number = |number: i32| u32::try_from(number).unwrap_or(HOCKET_ANY);
                let [channel, key] = [note.channel, note.key].map(|it| number(it.into()));
                of(kind, [channel, key, number(note.id), 0], note.velocity)
            }
            EventKind::Param(change) => {
                of(HOCKET_MESSAGE_PARAM, [change.param, 0, 0, 0], change.value)
            }
            EventKind::EndAllNotes => of(HOCKET_MESSAGE_END_ALL_NOTES, [0; 4], 0.0),
            EventKind::SysEx(bytes) => of(HOCKET_MESSAGE_SYSEX, [bytes.len() as u32, 0, 0, 0], 0.0),
        }
    }
}

impl Graph {
    fn set_event_ports(&mut self, node: u32, events: EventPorts) -> Result<(), Failure> {
        let facts = &mut self.draft(node)?.facts;
        let is_input = facts.input.is_some();
        let no_processor = facts.kind.is_some() || facts.sums && !is_input;
        if (no_processor || is_input && events.input) && events != EventPorts::NONE {
            return Err(Failure::bad_input(format!(
                "node '{}' cannot have these event ports: nodes with a processor of the host may read and write \
                 events, an engine input may write them, and no other node has events",
                facts.name
            )));
        }
        let before = std::mem::replace(&mut facts.ports.events, events);
        let fits = self.check_edges_of(node);
        if fits.is_err() {
            self.draft(node)?.facts.ports.events = before;
        }
        fits
    }
}
