//! The sibling policies that a run may change to while it plays.

use hocket_engine::{Seating, SiblingPolicy};

/// How a run began, which decides where it can go.
#[derive(Debug, Clone)]
pub(super) struct Policies {
    seating: Seating,
    /// Whether the leader's thread belongs to a sound server.
    leader_is_foreign: bool,
}

impl Policies {
    pub(super) fn new(seating: Seating, leader_is_foreign: bool) -> Policies {
        Policies { seating, leader_is_foreign }
    }

    /// Those that change something here, besides the one of the start. The engine starts threads for them.
    pub(super) fn others(&self) -> Vec<SiblingPolicy> {
        let own = self.seating.placement().policy;
        let others = SiblingPolicy::ALL.into_iter().filter(|policy| *policy != own);
        others.filter(|policy| self.refusal(*policy).is_none()).collect()
    }

    /// The one after the present one; `None`: there is no other one.
    pub(super) fn after(&self, present: SiblingPolicy) -> Option<SiblingPolicy> {
        let all = SiblingPolicy::ALL;
        let place = all.iter().position(|policy| *policy == present)?;
        let mut after = all.iter().cycle().skip(place + 1).take(all.len() - 1);
        after.find(|policy| self.refusal(**policy).is_none()).copied()
    }

    /// Why a run cannot change to a policy.
    pub(super) fn refusal(&self, policy: SiblingPolicy) -> Option<String> {
        let (own, name) = (self.seating.placement().policy, policy.name());
        if policy == own {
            return None;
        }
        if let Some(fixed) = [own, policy].into_iter().find(|policy| !policy.changes_live()) {
            let fixed = fixed.name();
            return Some(format!(
                "policy {fixed} begins and ends with a run, because it changes the whole system: quit, and play again \
                 with --policy {name}"
            ));
        }
        if self.leader_is_foreign && policy.is_for_own_leader() {
            return Some(format!(
                "policy {name} would move or mark threads of the sound server: choose off, all, idle-thread or \
                 pair-barrier"
            ));
        }
        match self.seating.under(policy) {
            Ok(seating) => {
                seating.placement().no_effect.as_ref().map(|why| format!("policy {name}: {why}"))
            }
            Err(why) => Some(format!("policy {name}: {why}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hocket_engine::{CookieShape, Seat, Seats};

    fn policies(cores: &[usize], own: SiblingPolicy, leader_is_foreign: bool) -> Policies {
        let seats = cores.iter().map(|core| Seat { core: *core, speed: 1.0 }).collect();
        let seating = Seating::described(&Seats { seats }, own, None).unwrap();
        Policies::new(seating, leader_is_foreign)
    }

    const PAIRS: [usize; 4] = [0, 0, 1, 1];

    #[test]
    fn the_key_goes_through_all_that_change_something_and_comes_back() {
        for own in [SiblingPolicy::Off, SiblingPolicy::IdleThread] {
            let policies = policies(&PAIRS, own, false);
            let mut seen = vec![own];
            while let Some(next) = policies.after(*seen.last().unwrap()).filter(|next| *next != own)
            {
                seen.push(next);
            }
            let live = SiblingPolicy::ALL.into_iter().filter(|policy| policy.changes_live());
            let mut live: Vec<_> = live.collect();
            live.sort();
            seen.sort();
            assert_eq!(seen, live);
        }
    }

    #[test]
    fn a_machine_without_pairs_has_a_core_to_reserve_and_nothing_else() {
        let two_cores = policies(&[0, 1], SiblingPolicy::Off, false);
        assert_eq!(two_cores.others(), [SiblingPolicy::ReserveCore]);
        let why = two_cores.refusal(SiblingPolicy::All).unwrap();
        assert!(why.contains("no two seats share a core"), "{why}");
        let one_core = policies(&[0], SiblingPolicy::Off, false);
        assert_eq!((one_core.others(), one_core.after(SiblingPolicy::Off)), (vec![], None));
    }

    #[test]
    fn beside_a_server_no_policy_touches_its_threads() {
        use SiblingPolicy::{All, IdleThread, Off, PairBarrier};
        assert_eq!(policies(&PAIRS, Off, true).others(), [All, IdleThread, PairBarrier]);
        let cookie = SiblingPolicy::Cookie(CookieShape::Engine);
        let began_with_one = policies(&PAIRS, cookie, true);
        assert_eq!(began_with_one.others(), [Off, All, IdleThread, PairBarrier]);
        assert_eq!(
            began_with_one.refusal(cookie),
            None,
            "it was refused at the start, and said so"
        );
    }

    #[test]
    fn what_changes_the_system_neither_begins_nor_ends_while_it_plays() {
        for fixed in [SiblingPolicy::Partition, SiblingPolicy::Offline] {
            let why = policies(&PAIRS, SiblingPolicy::Off, false).refusal(fixed).unwrap();
            assert!(why.contains(&format!("--policy {}", fixed.name())), "{why}");
            let began_with_it = policies(&PAIRS, fixed, false);
            assert_eq!(began_with_it.others(), []);
            let why = began_with_it.refusal(SiblingPolicy::All).unwrap();
            assert!(why.contains("--policy all"), "{why}");
        }
    }
}
