//! One way for several threads: what is asked and how the answer is checked against the kernel.

use super::bus::{self, Talk};
use super::service::Service;
use super::*;

/// Asks for all `threads` by one way; one answer each, in their order.
pub(super) fn ask(way: Way, threads: &[ThreadId], priority: u8) -> Vec<Answer> {
    match way {
        Way::Fifo => threads.iter().map(|&thread| fifo(thread, priority)).collect(),
        Way::Portal => by_service(&Service::PORTAL, threads, priority),
        Way::Rtkit => by_service(&Service::RTKIT, threads, priority),
        Way::Slice => threads.iter().map(|&thread| slice(thread)).collect(),
        Way::None => vec![Answer::no("nothing was asked"); threads.len()],
    }
}

// ---- directly -----------------------------------------------------------------------------------------------------

/// SCHED_FIFO with `priority`, else with what RLIMIT_RTPRIO allows below it.
fn fifo(thread: ThreadId, priority: u8) -> Answer {
    let first = fifo_at(thread, priority);
    let allowed = sys::limit(Resource::RealTimePriority).ok().and_then(|limit| limit.soft);
    match allowed.and_then(|limit| u8::try_from(limit).ok()) {
        Some(limit) if !first.granted && (1..priority).contains(&limit) => {
            let second = fifo_at(thread, limit);
            Answer { outcome: format!("{}; {}", first.outcome, second.outcome), ..second }
        }
        _ => first,
    }
}

fn fifo_at(thread: ThreadId, priority: u8) -> Answer {
    let asked = Class::Fifo { priority };
    match sys::set_sched_attr_of(thread.0, &class::attributes(asked, true)) {
        Ok(()) => confirm(thread, &asked.to_string(), |now| now.is(asked)),
        Err(e) => {
            let (why, remedy) = class::refusal(asked, &e);
            let parts: Vec<String> = why.into_iter().chain(remedy).collect();
            Answer::no(format!("asked for {asked}: {}", parts.join("; ")))
        }
    }
}

fn slice(thread: ThreadId) -> Answer {
    let set = sys::sched_attr_of(thread.0).and_then(|mut attr| {
        attr.runtime = SLICE.as_nanos() as u64;
        attr.flags &= sys::RESET_ON_FORK;
        sys::set_sched_attr_of(thread.0, &attr)
    });
    let asked = format!("a slice of {} µs", SLICE.as_micros());
    match set {
        Ok(()) => confirm(thread, &asked, |now| now.slice_ns.is_some()),
        Err(e) => Answer::no(format!("asked for {asked}: {}", plain(&e))),
    }
}

// ---- by a service -------------------------------------------------------------------------------------------------

fn by_service(service: &Service, threads: &[ThreadId], priority: u8) -> Vec<Answer> {
    let mut answers = vec![None; threads.len()];
    let talked = match priority {
        1..=99 => bus::converse(service, PATIENCE, async |talk: &Talk| {
            all_by_service(talk, threads, priority, &mut answers).await
        }),
        _ => Err(format!("{priority} is not a real-time priority; ask for one from 1 to 99")),
    };
    let why = talked.err().unwrap_or_else(|| "the service was not asked".into());
    answers.into_iter().map(|answer| answer.unwrap_or_else(|| Answer::no(why.clone()))).collect()
}

/// The whole conversation: what the service has to give, the limit it wants, then one request a thread. Where nobody was
/// promoted the limit is given back; also where the conversation is cut off before the first answer.
async fn all_by_service(
    talk: &Talk,
    threads: &[ThreadId],
    priority: u8,
    answers: &mut [Option<Answer>],
) -> Result<(), String> {
    let terms = talk.terms().await?;
    let mut lowered = budget::Lowered::to(terms.rttime_us)?;
    for (answer, &thread) in answers.iter_mut().zip(threads) {
        let got = promote(talk, thread, priority.min(terms.max_priority)).await;
        if got.granted {
            lowered.keep();
        }
        *answer = Some(got);
    }
    Ok(())
}

async fn promote(talk: &Talk, thread: ThreadId, priority: u8) -> Answer {
    let asked = format!("real-time priority {priority}");
    match talk.make_real_time(std::process::id(), thread, priority).await {
        Ok(()) => confirm(thread, &asked, ClassNow::is_real_time),
        Err(why) => Answer::no(format!("asked for {asked}: {why}")),
    }
}

// ---- the kernel has the last word ---------------------------------------------------------------------------------

fn confirm(thread: ThreadId, asked: &str, is_it: impl Fn(&ClassNow) -> bool) -> Answer {
    let now = class::now_of(thread);
    let granted = now.value().is_some_and(is_it);
    let slice = now.value().and_then(|now| now.slice_ns);
    let slice = slice.map_or(String::new(), |ns| format!(" with a slice of {} µs", ns / 1000));
    let outcome = match granted {
        true => format!("asked for {asked}, got {now}{slice}"),
        false => {
            format!("requested {asked}; the service agreed, but the kernel reports {now}{slice}")
        }
    };
    Answer { granted, outcome }
}
