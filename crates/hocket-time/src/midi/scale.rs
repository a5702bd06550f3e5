//! Values of MIDI 1.0 in the resolution of MIDI 2.0 and back (MIDI 2.0 Bit Scaling and Resolution, M2-115).

/// Scales up so that minimum, centre and maximum stay what they are ("min-center-max").
///
/// `from` and `to` are numbers of bits, 2 <= from < to <= 32. Up to the centre the value is shifted. Above it the low
/// bits repeat those of the value, so the largest becomes the largest.
pub const fn scale_up(value: u32, from: u32, to: u32) -> u32 {
    let more = to - from;
    let shifted = value << more;
    if value <= 1 << (from - 1) {
        return shifted;
    }
    let repeat_bits = from - 1;
    let low = value & ((1 << repeat_bits) - 1);
    let mut repeat =
        if more > repeat_bits { low << (more - repeat_bits) } else { low >> (repeat_bits - more) };
    let mut scaled = shifted;
    while repeat != 0 {
        scaled |= repeat;
        repeat >>= repeat_bits;
    }
    scaled
}

/// Scales down; undoes [`scale_up`].
pub const fn scale_down(value: u32, from: u32, to: u32) -> u32 {
    value >> (from - to)
}

/// Scales down to the nearest value. For registered controllers 0 to 31, which count in units and not in parts of a
/// range; scaled up they are only shifted.
pub const fn scale_down_rounded(value: u32, from: u32, to: u32) -> u32 {
    let less = from - to;
    let nearest = (value as u64 + (1 << (less - 1))) >> less;
    let most = (1 << to) - 1;
    if nearest > most { most as u32 } else { nearest as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_examples_come_out() {
        // M2-115, the tables of 7 to 16 and 7 to 32 bits.
        let of_16 = [(0, 0), (32, 0x4000), (64, 0x8000), (70, 0x8c30), (96, 0xc104), (120, 0xf1c7)];
        for (value, scaled) in of_16 {
            assert_eq!(scale_up(value, 7, 16), scaled, "{value}");
        }
        assert_eq!(scale_up(127, 7, 16), 0xffff);
        assert_eq!(scale_up(70, 7, 32), 0x8c30_c30c);
        assert_eq!(scale_up(127, 7, 32), 0xffff_ffff);
    }

    #[test]
    fn every_value_comes_back_in_order_with_its_centre() {
        for (from, to) in [(7, 14), (7, 16), (7, 32), (14, 16), (14, 32)] {
            let values = 0..1u32 << from;
            let mut before = None;
            for value in values {
                let scaled = scale_up(value, from, to);
                assert_eq!(scale_down(scaled, to, from), value);
                assert!(before.is_none_or(|before| before < scaled));
                assert_eq!(scale_down_rounded(value << (to - from), to, from), value);
                before = Some(scaled);
            }
            assert_eq!(scale_up(1 << (from - 1), from, to), 1 << (to - 1));
            assert_eq!(before, Some(u32::MAX >> (32 - to)));
        }
        assert_eq!(scale_down_rounded(u32::MAX, 32, 14), 0x3fff);
    }
}
