//! Where the things of a session are: by index, by strip, and where on a strip.

/// Index into [`crate::Session::media`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MediaId(pub usize);
/// Index into [`crate::Session::groups`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub usize);
/// Index into [`crate::Session::returns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReturnId(pub usize);
/// Index into [`crate::Session::inputs`], which is the number of the engine's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InputId(pub usize);

/// Where a send, an output or a key leaves the strip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tap {
    /// After the chain, before fader and pan (and before mute).
    PreFader,
    /// After fader, pan and mute.
    PostFader,
}

/// A strip by its place in the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StripId {
    /// Index into [`crate::Session::tracks`].
    Track(usize),
    /// Index into [`crate::Session::groups`].
    Group(usize),
    /// Index into [`crate::Session::returns`].
    Return(usize),
    /// The master.
    Master,
}
