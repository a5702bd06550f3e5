//! Strips that are alike: equal effects of two of them run as one vector, while parameters and bypasses move.

use hocket_plan::session::LaneTarget;

use super::*;

/// Parameters and bypasses move inside blocks, on one strip of a pair and on both. Every schedule and number of workers has
/// pairs of this session.
#[test]
fn strips_that_are_alike_are_bit_identical_abreast() {
    let mut tally = Tally::default();
    for rate_hz in RATES_HZ {
        let session = load(ALIKE, rate_hz);
        let expected = reference(&session);
        tally.check_couples(&session, &expected);
    }
    tally.tell(ALIKE);
    assert!(tally.coupled > 0 && tally.single == 0, "{} cells without pairs", tally.single);
}

/// Not those with a key, with other sizes inside, or with a band that is off.
#[test]
fn strips_are_paired_if_they_compute_the_same() {
    let session = load(ALIKE, 48_000);
    let policy =
        Policy { schedule: ScheduleKind::Serial, sibling: SiblingPolicy::Off, wait: WAITS[2] };
    let engine = start_coupled(&session, policy, 1, None, Couples::Always);
    let pair = |strip: &str| [format!("{strip} 1"), format!("{strip} 2")];
    let expected = ["amp", "bands", "chain", "meter", "mono", "press"].map(pair);
    assert_eq!(pairs_of(&engine), expected);
}

/// A meter passes its sound on, so what moves there is not heard.
#[test]
fn what_moves_in_strips_that_are_alike_is_heard() {
    let mut session = load(ALIKE, 48_000);
    let expected = reference(&session);
    for lane in 0..session.session.automation.len() {
        let moves = session.session.automation.remove(lane);
        let (LaneTarget::Param(at, _) | LaneTarget::Bypass(at)) = moves.target else {
            panic!("{:?}", moves.target)
        };
        let is_meter = session.session.strip(at.strip).chain[at.index].kind == "correlation";
        let sounds_alike = reference(&session) == expected;
        assert_eq!(sounds_alike, is_meter, "{:?}", moves.target);
        session.session.automation.insert(lane, moves);
    }
}

/// The strips that run abreast, pair by pair, in the order of the alphabet.
fn pairs_of(engine: &Engine) -> Vec<[String; 2]> {
    let strip = |chain: &str| chain.split(':').next().expect("a name").to_owned();
    let pairs = engine.schedule().units().units().iter().flat_map(|unit| {
        let chains = unit.folded.iter().map(|chain| &chain.name).chain([&unit.name]);
        let chains: Vec<&String> = chains.collect();
        let pair = |place: &u32| [0, 1].map(|next| strip(chains[*place as usize + next]));
        let mut pairs: Vec<[String; 2]> = unit.couples.iter().map(pair).collect();
        pairs.iter_mut().for_each(|pair| pair.sort());
        pairs
    });
    let mut pairs: Vec<[String; 2]> = pairs.collect();
    pairs.sort();
    pairs
}
