//! `pi`: a long serial computation, tied to a CPU and not.

use hocket_kernels::pi::{Digits, ONE_M, pi};
use hocket_machine::noise::ThreadSnapshot;

use crate::harness::timed::time;
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{
    About, Check, Design, Experiment, Fault, Historic, Host, Metric, NotMeasurable, Opened,
    Parameter, Results, Rounds, Sample, Section, Sentence, Size, Variant, contrast_sentences,
};

/// See [`About`].
pub struct Pi;

static ABOUT: About = About {
    id: "pi",
    section: Section::Priority,
    question: "Does pinning help a program that has one thread?",
    origin: "a comparison of quad cores under Windows XP of 2008: SuperPi mod 1.5 XS, 1M digits, six runs",
    method: "One thread computes digits of pi by the algorithm of SuperPi (Gauss and Legendre, multiplication by a \
             Fourier transform of doubles), on the CPU that the system chooses and tied to one. A full run \
             computes 2^20 digits as the original did (`time-1m`), a quick one 2^15 (`time-32k`), which is \
             another figure. Six runs of each, two in each of three processes. Digits are compared with published ones, and in a \
             quick run all of them with a computation of more digits.",
    limits: "Seconds compare as a story only: SuperPi is another program, built by a compiler of 1995. What pinning \
             changes compares. The published gains of 7.5 and 5 % follow from the published means as reductions of the time, \
             with the makers swapped: 7.4 % on the Core 2, 5.0 % on the Phenom.",
    metrics: &[
        Metric::less("time-1m", "s").means("Time of one computation of 2^20 digits."),
        Metric::less("time-32k", "s").means("Time of one computation of 2^15 digits."),
        Metric::less("migrations", "")
            .means("How often the system moved the thread during one computation, as its kernel counts it."),
    ],
    parameters: &[Parameter::new("digits", &DIGITS)],
};

/// Digits that a quick run's are compared with: more, so that its last ones are not the last ones here.
const KNOWN: usize = 33_000;

const DIGITS: [usize; 2] = [1 << 15, ONE_M];

fn digits(size: Size) -> usize {
    size.of(DIGITS)
}

fn metric(size: Size) -> &'static str {
    size.pick("time-32k", "time-1m")
}

impl Experiment for Pi {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let variants =
            vec![Variant::new("scheduler"), Variant::new("pinned").on(&[host.cpus[0]], None)];
        let rounds = Rounds { processes: 3, per_process: 2, warm_up: 0 };
        let design = Design::against_first(variants, metric(size), rounds);
        Ok(design.twinned())
    }

    fn turn_ms(&self) -> f64 {
        90.0
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let known = size.pick(Some(known().map_err(NotMeasurable::new)?), None);
        let places: Vec<Place> = design.variants.iter().map(place).collect();
        Ok(Box::new(move |variant: usize| {
            compute(&places[variant], size, |found| check(found, known.as_ref()))
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let mut sentences = contrast_sentences(results);
        let variants = results.designed();
        sentences.extend(variants.iter().filter_map(|variant| told(results, &variant.name)));
        sentences
    }

    fn historic(&self) -> Vec<Historic> {
        super_pi(
            "time-1m",
            "Another program by another compiler; only what pinning changes compares.",
        )
    }
}

/// The printed times of SuperPi, beside `metric`.
pub(super) fn super_pi(metric: &'static str, differs: &'static str) -> Vec<Historic> {
    let figure = |label, value, variant| {
        Historic::new(label, value, "s", metric)
            .beside(variant)
            .means("Mean of six runs of SuperPi mod 1.5 XS, 1M digits, Windows XP SP2.")
            .differs(differs)
            .printed_in("a comparison of quad cores, informaticapremium, 16 March 2008")
    };
    vec![
        figure("Core 2 Quad 6600, 2.4 GHz, not pinned", 22.75, "scheduler"),
        figure("Core 2 Quad 6600, 2.4 GHz, pinned", 21.06, "pinned"),
        figure("Phenom 9600 BE, 2.3 GHz, not pinned", 35.65, "scheduler"),
        figure("Phenom 9600 BE, 2.3 GHz, pinned", 33.85, "pinned"),
    ]
}

fn place(variant: &Variant) -> Place {
    Place::among(&variant.cpus)
}

/// More digits than a quick run computes, the first 10,000 held against published ones.
fn known() -> Result<Digits, Fault> {
    let digits = pi(KNOWN).map_err(Fault::new)?;
    digits.check().map_err(Fault::new)?;
    Ok(digits)
}

fn check(found: &Digits, known: Option<&Digits>) -> Check {
    let published = found.check().map_err(|wrong| wrong.to_string());
    let Err(why) = published.and_then(|()| match known {
        Some(known) if !known.as_str().starts_with(found.as_str()) => {
            Err("the digits differ from those of a longer computation".into())
        }
        _ => Ok(()),
    }) else {
        return Check::Passed;
    };
    Check::Failed(why)
}

fn compute(
    place: &Place,
    size: Size,
    check: impl FnOnce(&Digits) -> Check,
) -> Result<Vec<Sample>, Fault> {
    let work = || {
        let before = ThreadSnapshot::take();
        let (ns, found) = time(|| pi(digits(size)));
        let after = ThreadSnapshot::take().since(&before);
        let moves = after.0.value().and_then(|used| used.migrations.value().copied());
        (ns, found, moves)
    };
    let run = TurnThreads::new().with(place.clone(), work).run()?;
    let (ns, found, moves) =
        run.into_results().pop().ok_or_else(|| Fault::new("nobody computed"))?;
    let checked = found.map_or_else(|wrong| Check::Failed(wrong.to_string()), |d| check(&d));
    let ops = digits(size) as u64;
    let mut samples = vec![Sample::new(metric(size), ns as f64 / 1e9, ops, checked)];
    let counted = || Check::None("counted by the system".into());
    samples.extend(moves.map(|moves| Sample::new("migrations", moves as f64, 1, counted())));
    Ok(samples)
}

/// Mean and standard deviation, as the original text compares runs.
fn told(results: &Results, name: &str) -> Option<Sentence> {
    let metric = metric(results.run.size);
    let times = results.values(name, metric);
    let n = times.len() as f64;
    if times.len() < 2 {
        return None;
    }
    let mean = times.iter().sum::<f64>() / n;
    let spread = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let moves = results.values(name, "migrations");
    let moved = match moves.len() {
        0 => String::new(),
        n => format!(", {:.1} migrations a run", moves.iter().sum::<f64>() / n as f64),
    };
    Some(Sentence::fact(format!(
        "{name}: mean of {n} runs {mean:.3} s, standard deviation {:.1} %{moved}",
        spread.sqrt() / mean * 100.0
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_digit_fails_the_check() {
        let (short, long) = (pi(200).unwrap(), pi(300).unwrap());
        assert_eq!(check(&short, Some(&long)), Check::Passed);
        assert_ne!(check(&long, Some(&short)), Check::Passed);
    }
}
