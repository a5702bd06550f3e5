//! The messages of Perfetto's format that a trace of Hocket needs, with the field numbers of
//! `protos/perfetto/trace/trace_packet.proto` and its neighbours.
//!
//! Numbers in a protobuf never change their meaning, so this part stays readable. A reader skips fields that it does not
//! know.

use prost::Message;

/// `TrackEvent.Type`.
pub(super) const BEGIN: i32 = 1;
pub(super) const END: i32 = 2;
pub(super) const INSTANT: i32 = 3;
pub(super) const COUNTER: i32 = 4;

/// `TracePacket.SequenceFlags`: forget the names that packets before this one have given.
pub(super) const NAMES_BEGIN_HERE: u32 = 1;
/// `TracePacket.SequenceFlags`: useless without them.
pub(super) const NAMES_ARE_NEEDED: u32 = 2;

/// `TrackDescriptor.ChildTracksOrdering`: by rank.
pub(super) const EXPLICIT: i32 = 3;

/// `CounterDescriptor.Unit`.
pub(super) const NANOSECONDS: i32 = 1;

/// A whole file.
#[cfg(test)]
#[derive(Clone, PartialEq, Message)]
pub(super) struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// `trusted_packet_sequence_id`
    #[prost(uint32, optional, tag = "10")]
    pub sequence: Option<u32>,
    /// `track_event`
    #[prost(message, optional, tag = "11")]
    pub event: Option<TraceEvent>,
    /// `interned_data`
    #[prost(message, optional, tag = "12")]
    pub interned: Option<Interned>,
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// `TrackDescriptor`
#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub process: Option<Process>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<Counter>,
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// `sibling_order_rank`
    #[prost(int32, optional, tag = "12")]
    pub rank: Option<i32>,
}

/// `ProcessDescriptor`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Process {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// `process_name`
    #[prost(string, optional, tag = "6")]
    pub name: Option<String>,
}

/// `CounterDescriptor`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Counter {
    #[prost(int32, optional, tag = "3")]
    pub unit: Option<i32>,
}

/// `TrackEvent`
#[derive(Clone, PartialEq, Message)]
pub(super) struct TraceEvent {
    /// `category_iids`
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    pub categories: Vec<u64>,
    /// `debug_annotations`
    #[prost(message, repeated, tag = "4")]
    pub details: Vec<DebugAnnotation>,
    /// `type`
    #[prost(int32, optional, tag = "9")]
    pub kind: Option<i32>,
    /// `name_iid`
    #[prost(uint64, optional, tag = "10")]
    pub name: Option<u64>,
    /// `track_uuid`
    #[prost(uint64, optional, tag = "11")]
    pub track: Option<u64>,
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
}

/// `InternedData`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Interned {
    /// `event_categories`
    #[prost(message, repeated, tag = "1")]
    pub categories: Vec<InternedName>,
    /// `event_names`
    #[prost(message, repeated, tag = "2")]
    pub names: Vec<InternedName>,
}

/// `EventCategory` and `EventName`
#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedName {
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}
