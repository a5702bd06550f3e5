//! What is compared with what, in as few words as tell it.

use super::plots::{Firm, Ratio};
use crate::harness::ContrastResult;
use crate::once::each_once;

/// The ratios of interest as rows of a picture: what two names share is said once, and where several
/// rows share it and the reference, once above them.
pub(super) fn ratios<'a>(
    contrasts: impl Iterator<Item = (&'a ContrastResult, Firm)>,
) -> Vec<Ratio> {
    let contrasts: Vec<_> = contrasts.collect();
    let several = contrasts.windows(2).any(|pair| pair[0].0.metric != pair[1].0.metric);
    let named: Vec<(Ratio, Names)> = contrasts
        .iter()
        .filter_map(|(contrast, firm)| {
            let names = Names::of(contrast, several);
            Some((ratio(contrast, *firm, &names)?, names))
        })
        .collect();
    let heads = each_once(named.iter().map(|(_, names)| names.head()));
    if heads.len() * 2 > named.len() {
        return named.into_iter().map(|(ratio, _)| ratio).collect();
    }
    let mut grouped: Vec<(usize, Ratio)> = Vec::new();
    for (ratio, names) in named {
        let group = names.head();
        let at = heads.iter().position(|head| *head == group).unwrap_or(0);
        grouped.push((at, Ratio { group, name: names.candidate, ..ratio }));
    }
    grouped.sort_by_key(|(at, _)| *at);
    grouped.into_iter().map(|(_, ratio)| ratio).collect()
}

fn ratio(contrast: &ContrastResult, firm: Firm, names: &Names) -> Option<Ratio> {
    Some(Ratio {
        label: super::tables::compared(contrast),
        name: names.alone(),
        group: String::new(),
        ratio: contrast.estimate()?,
        floor: contrast.floor,
        firm,
    })
}

/// Two names cut into what both have and what each has.
struct Names {
    shared: String,
    candidate: String,
    reference: String,
}

impl Names {
    fn of(contrast: &ContrastResult, with_metric: bool) -> Names {
        let (before, after) = common(&contrast.candidate, &contrast.reference);
        let words = |name: &str| {
            let words: Vec<&str> = name.split(' ').collect();
            words[before..words.len() - after].join(" ")
        };
        let all: Vec<&str> = contrast.candidate.split(' ').collect();
        let metric = with_metric.then_some(contrast.metric.as_str());
        let shared = [&all[..before], &all[all.len() - after..]].concat();
        Names {
            shared: metric.into_iter().chain(shared).collect::<Vec<_>>().join(" "),
            candidate: words(&contrast.candidate),
            reference: words(&contrast.reference),
        }
    }

    /// For a row of its own.
    fn alone(&self) -> String {
        let both = format!("{} against {}", self.candidate, self.reference);
        if self.shared.is_empty() { both } else { format!("{}: {both}", self.shared) }
    }

    /// Above several rows.
    fn head(&self) -> String {
        let against = format!("against {}", self.reference);
        if self.shared.is_empty() { against } else { format!("{}, {against}", self.shared) }
    }
}

/// How many words two names share at the beginning and at the end; none where nothing of one of them would be left.
fn common(a: &str, b: &str) -> (usize, usize) {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split(' ').collect(), b.split(' ').collect());
    let before = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let shortest = a.len().min(b.len());
    let rest = shortest - before;
    let after = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    if before + after >= shortest { (0, 0) } else { (before, after) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Standing;

    fn contrast(candidate: &str, reference: &str, metric: &str) -> ContrastResult {
        ContrastResult {
            reference: reference.into(),
            candidate: candidate.into(),
            metric: metric.into(),
            all: crate::stats::compare(&[1.0], &[2.0], 1),
            quiet: None,
            starts: 0,
            floor: None,
            judgement: crate::stats::Judgement::TooFew,
            quiet_judgement: crate::stats::Judgement::TooFew,
            standing: Standing::NotShown,
        }
    }

    fn named(contrasts: &[ContrastResult]) -> Vec<Ratio> {
        ratios(contrasts.iter().map(|contrast| (contrast, Firm::No)))
    }

    #[test]
    fn what_is_shared_is_said_once() {
        let one = named(&[contrast("biquads cpu0 busy", "biquads cpu0 alone", "time")]);
        assert_eq!(one[0].name, "biquads cpu0: busy against alone");
        assert_eq!(one[0].label, "time: biquads cpu0 busy against biquads cpu0 alone");
        let longer = named(&[contrast("a b", "a", "time")]);
        assert_eq!(longer[0].name, "a b against a");
    }

    #[test]
    fn rows_with_one_reference_stand_below_it() {
        let all = ["atomic far", "ticket far", "atomic near", "ticket near"];
        let of = |name: &&str| {
            let place = name.rsplit(' ').next().unwrap();
            contrast(name, &format!("mutex {place}"), "passes")
        };
        let rows = named(&all.iter().map(of).collect::<Vec<_>>());
        let said: Vec<_> = rows.iter().map(|r| (r.group.as_str(), r.name.as_str())).collect();
        assert_eq!(said[1], ("far, against mutex", "ticket"));
        assert_eq!(said[2], ("near, against mutex", "atomic"));
    }
}
