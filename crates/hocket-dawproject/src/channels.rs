//! Tracks and channels of `<Structure>`, before anything is known of their routes.

use std::collections::HashMap;

use roxmltree::NodeId;

use crate::remarks::Remarks;
use crate::xml::{Element, Read, Xml, child, elements, flag};

/// More strips than anybody mixes; routes are looked at several times.
const MAX_CHANNELS: usize = 20_000;

/// What a channel is for, by its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Regular,
    Effect,
    Submix,
    Master,
    Vca,
}

/// A channel of the mixer, with its track if it has one.
pub(crate) struct Channel<'a> {
    /// `<Channel>`; a track may lack it.
    pub element: Option<Element<'a>>,
    /// What messages point at: the track, or the channel itself.
    pub owner: Element<'a>,
    /// As the project says it; empty if it does not.
    pub name: String,
    pub role: Role,
    /// The channel of the folder around.
    pub folder: Option<usize>,
    /// Other tracks are in it.
    pub is_folder: bool,
    /// The program had switched the track off.
    pub is_off: bool,
}

/// All channels, in the order of the project.
pub(crate) struct Channels<'a> {
    pub all: Vec<Channel<'a>>,
    pub of_track: HashMap<NodeId, usize>,
    pub of_element: HashMap<NodeId, usize>,
}

impl<'a> Channels<'a> {
    pub(crate) fn read(
        xml: &Xml<'a>,
        structure: &Element<'a>,
        remarks: &mut Remarks,
    ) -> Read<Channels<'a>> {
        let mut channels =
            Channels { all: Vec::new(), of_track: HashMap::new(), of_element: HashMap::new() };
        for element in elements(structure) {
            channels.add(xml, &element, None, remarks)?;
        }
        Ok(channels)
    }

    /// Depth was checked when the text was read.
    fn add(
        &mut self,
        xml: &Xml<'a>,
        element: &Element<'a>,
        folder: Option<usize>,
        remarks: &mut Remarks,
    ) -> Read<()> {
        let (channel, is_track) = match element.tag_name().name() {
            "Track" => (child(element, "Channel"), true),
            "Channel" => (Some(*element), false),
            tag => {
                remarks.add(element, format!("<{tag}> among the tracks"), "is left out");
                return Ok(());
            }
        };
        let inner: Vec<Element<'a>> = match is_track {
            true => elements(element).filter(|inner| inner.tag_name().name() == "Track").collect(),
            false => Vec::new(),
        };
        let is_folder = !inner.is_empty();
        let mut around = folder;
        // A folder without a channel only keeps tracks together.
        if channel.is_some() || !is_folder {
            if self.all.len() >= MAX_CHANNELS {
                let cause = format!("more than {MAX_CHANNELS} tracks and channels");
                return Err(xml.error(element, cause, "split the project"));
            }
            let index = self.all.len();
            let name = element.attribute("name").or(channel.and_then(|c| c.attribute("name")));
            self.all.push(Channel {
                element: channel,
                owner: *element,
                name: plain(name.unwrap_or_default()),
                role: role(channel),
                folder,
                is_folder,
                is_off: is_track && !flag(element, "loaded", true),
            });
            self.of_track.extend(is_track.then(|| (element.id(), index)));
            self.of_element.extend(channel.map(|channel| (channel.id(), index)));
            around = Some(index);
        }
        inner.iter().try_for_each(|track| self.add(xml, track, around, remarks))
    }
}

/// One line of text of a usual length.
fn plain(name: &str) -> String {
    let name = name.trim().chars().take(200);
    name.map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn role(channel: Option<Element<'_>>) -> Role {
    match channel.and_then(|channel| channel.attribute("role")) {
        Some("master") => Role::Master,
        Some("effect") => Role::Effect,
        Some("submix") => Role::Submix,
        Some("vca") => Role::Vca,
        _ => Role::Regular,
    }
}
