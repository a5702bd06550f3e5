//! The state of a plug-in as bytes: a preset file of VST3 (`.vstpreset`), which other hosts and DAWproject files have, too.

/// What such a file begins with.
const MARK: &[u8; 4] = b"VST3";
const VERSION: i32 = 1;
/// Bytes in front of the parts: mark, version, id, place of the list.
const HEAD: usize = 4 + 4 + 32 + 8;
const COMPONENT: &[u8; 4] = b"Comp";
const CONTROLLER: &[u8; 4] = b"Cont";
const LIST: &[u8; 4] = b"List";
/// A part's name, place and length in the list.
const ENTRY: usize = 4 + 8 + 8;
/// The most parts of a file.
const MOST_PARTS: usize = 1024;

/// What the two halves of a plug-in keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Of which plug-in: its id in sessions.
    pub id: String,
    /// What its component keeps.
    pub component: Vec<u8>,
    /// What its controller keeps beside that.
    pub controller: Option<Vec<u8>>,
}

impl State {
    /// As a preset file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let controller = self.controller.as_deref().map(|bytes| (CONTROLLER, bytes));
        let parts = [(COMPONENT, self.component.as_slice())].into_iter().chain(controller);
        let mut id = [b'0'; 32];
        id.iter_mut().zip(self.id.bytes()).for_each(|(to, from)| *to = from);
        let list = HEAD + parts.clone().map(|(_, bytes)| bytes.len()).sum::<usize>();
        let mut all = [MARK.as_slice(), &VERSION.to_le_bytes(), &id].concat();
        all.extend((list as i64).to_le_bytes());
        parts.clone().for_each(|(_, bytes)| all.extend(bytes));
        all.extend(LIST);
        all.extend((parts.clone().count() as i32).to_le_bytes());
        let mut place = HEAD;
        for (name, bytes) in parts {
            all.extend(name);
            all.extend((place as i64).to_le_bytes());
            all.extend((bytes.len() as i64).to_le_bytes());
            place += bytes.len();
        }
        all
    }

    /// # Errors
    /// These bytes are no state of a VST3 plug-in.
    pub fn from_bytes(bytes: &[u8]) -> Result<State, String> {
        let refused = |why: &str| format!("not the state of a VST3 plug-in (.vstpreset): {why}");
        if !bytes.starts_with(MARK) {
            return Err(refused("it does not begin with 'VST3'"));
        }
        let cut_off = || refused("it is cut off");
        let id = bytes.get(8..40).ok_or_else(cut_off)?;
        if !id.iter().all(u8::is_ascii_hexdigit) {
            return Err(refused("its id is not 32 hexadecimal digits"));
        }
        let id = String::from_utf8_lossy(id).to_ascii_uppercase();
        let list = number(bytes, 40).ok_or_else(cut_off)?;
        let has_list = part(bytes, list, 4).is_some_and(|mark| mark == LIST);
        let count = part(bytes, list + 4, 4).filter(|_| has_list).ok_or_else(cut_off)?;
        let count = u32::from_le_bytes(count.try_into().unwrap_or_default()) as usize;
        let (mut component, mut controller) = (None, None);
        for index in 0..count.min(MOST_PARTS) {
            let entry = list + 8 + index * ENTRY;
            let name = part(bytes, entry, 4).ok_or_else(cut_off)?;
            let place = number(bytes, entry + 4).ok_or_else(cut_off)?;
            let length = number(bytes, entry + 12).ok_or_else(cut_off)?;
            let found = part(bytes, place, length).ok_or_else(cut_off)?;
            match name {
                name if name == COMPONENT => component = Some(found),
                name if name == CONTROLLER => controller = Some(found),
                _ => {}
            }
        }
        // Copied once: many entries may name one part.
        let component = component.ok_or_else(|| refused("it has no part 'Comp'"))?.to_vec();
        Ok(State { id, component, controller: controller.map(<[u8]>::to_vec) })
    }
}

fn part(bytes: &[u8], place: usize, length: usize) -> Option<&[u8]> {
    bytes.get(place..place.checked_add(length)?)
}

/// No place or length is beyond the bytes, so sums of a few do not overflow.
fn number(bytes: &[u8], place: usize) -> Option<usize> {
    let number = part(bytes, place, 8)?;
    let number = u64::from_le_bytes(number.try_into().ok()?);
    usize::try_from(number).ok().filter(|number| *number <= bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_the_same_state() {
        for controller in [None, Some(vec![7; 5])] {
            let id = "0123456789ABCDEF0123456789ABCDEF".into();
            let state = State { id, component: vec![0, 255, 7], controller };
            let bytes = state.to_bytes();
            assert_eq!(State::from_bytes(&bytes), Ok(state));
            assert_eq!(
                (&bytes[..8], &bytes[8..12]),
                (b"VST3\x01\0\0\0".as_slice(), b"0123".as_slice())
            );
            for length in 0..bytes.len() {
                assert!(State::from_bytes(&bytes[..length]).is_err(), "{length}");
            }
        }
    }

    #[test]
    fn damaged_bytes_are_refused_or_read_without_harm() {
        let state =
            State { id: "A".repeat(32), component: vec![1; 40], controller: Some(vec![2; 9]) };
        let bytes = state.to_bytes();
        for place in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = bytes.clone();
                bytes[place] = value;
                let _ = State::from_bytes(&bytes);
            }
        }
        let refused = State::from_bytes(b"{\"format\"").unwrap_err();
        assert!(refused.contains("does not begin with 'VST3'"), "{refused}");
    }
}
