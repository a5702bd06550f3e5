//! Words of the command line and of the kernel: lists of CPUs, masks, foreign load.

use hocket_lab::disturb::DisturbSpec;
use hocket_machine::CpuSet;

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(set) = text.parse::<CpuSet>() {
        let list = set.to_string();
        assert_eq!(set.iter().count(), set.len());
        assert!(set.is_empty() || list.parse::<CpuSet>().expect("what Hocket writes") == set);
    }
    if let Ok(set) = CpuSet::parse_mask(text) {
        assert!(set.is_subset(&set) && set.difference(&set).is_empty());
    }
    if let Ok(load) = DisturbSpec::parse_list(text) {
        let words: Vec<String> = load.iter().map(DisturbSpec::to_string).collect();
        let again = DisturbSpec::parse_list(&words.join(",")).expect("what Hocket writes");
        assert_eq!(again, load);
    }
}
