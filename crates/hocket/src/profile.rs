//! The machine profile as commands use it: where it is, whether it holds, what it decides.

use std::path::{Path, PathBuf};

use clap::Args;
use hocket_engine::control::choose_sibling_policy::{Need, sibling_policy};
use hocket_engine::{SeatSpeeds, Settings, Strategy};
use hocket_lab::tune::{Conditions, Profile, ProfileError, Recommended};
use hocket_machine::{Topology, facts};
use hocket_plan::schedule::Overheads;
use hocket_plan::{ScheduleKind, SiblingPolicy};

use crate::cli::headings::WORKERS;
use crate::cli::{ScheduleArg, SiblingChoice, WaitArg};
use crate::failure::Failure;
use crate::output::{note, tell};

/// Names a profile, or `none`.
pub const VARIABLE: &str = "HOCKET_PROFILE";

/// Where defaults come from.
#[derive(Debug, Clone, Default, Args)]
pub struct ProfileArgs {
    /// Takes defaults from this machine profile [default: the one of `hocket tune`, while it holds].
    #[arg(long, value_name = "FILE", conflicts_with = "no_profile", help_heading = WORKERS)]
    pub profile: Option<PathBuf>,
    /// Ignores the machine profile.
    #[arg(long, help_heading = WORKERS)]
    pub no_profile: bool,
}

/// What is known of this machine beside what the system says.
#[derive(Debug, Default)]
pub struct Known {
    profile: Option<(PathBuf, Profile)>,
}

/// Where the user's profile is if nobody says otherwise; `None`: there is no home, or the variable says none.
pub fn usual_place() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    match set(VARIABLE) {
        Some(none) if none == "none" => return None,
        Some(path) => return Some(path.into()),
        None => {}
    }
    let folder = set("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(set("HOME")?).join(".config")))?;
    Some(folder.join("hocket").join("machine.toml"))
}

impl Known {
    /// The profile that `args` name, or the usual one where it holds.
    ///
    /// # Errors
    /// A profile that was asked for by name and is missing, damaged or no longer holds. The usual one is left out then,
    /// and standard error says why.
    pub fn find(args: &ProfileArgs, topology: &Topology) -> Result<Known, Failure> {
        match &args.profile {
            Some(path) => {
                let profile = held(path, topology).map_err(Failure::bad_input)?;
                Ok(Known { profile: Some((path.clone(), profile)) })
            }
            None if args.no_profile => Ok(Known::default()),
            None => Ok(Known::usual(topology)),
        }
    }

    fn usual(topology: &Topology) -> Known {
        let Some(path) = usual_place().filter(|path| path.exists()) else {
            return Known::default();
        };
        match held(&path, topology) {
            Ok(profile) => Known { profile: Some((path, profile)) },
            Err(why) => {
                tell(format_args!("{why}; going on without it"));
                Known::default()
            }
        }
    }

    fn block(&self, frames: u32) -> Option<&Recommended> {
        self.profile.as_ref()?.1.for_frames(frames)
    }

    /// The schedule for several workers; `None` where nothing is known or nothing beats the serial walk.
    fn parallel(&self, frames: u32) -> Option<ScheduleKind> {
        Some(self.block(frames)?.schedule).filter(|kind| *kind != ScheduleKind::Serial)
    }

    /// How units are dealt out by `bench` and `render`.
    pub fn schedule_or(&self, asked: Option<ScheduleArg>, frames: u32) -> ScheduleArg {
        let known = || self.block(frames).map(|block| ScheduleArg::from(block.schedule));
        asked.or_else(known).unwrap_or(ScheduleArg::Dataflow)
    }

    /// How workers wait.
    pub fn wait_or(&self, asked: Option<WaitArg>, frames: u32) -> Strategy {
        let known = || self.block(frames).map(|block| block.wait).filter(|w| w.missing().is_none());
        asked.map(Strategy::from).or_else(known).unwrap_or(Strategy::Hybrid)
    }

    /// Who may sit beside a worker. `auto` is found out and told.
    pub fn policy(
        &self,
        asked: SiblingChoice,
        frames: u32,
        topology: &Topology,
        need: Option<Need>,
    ) -> SiblingPolicy {
        if let SiblingChoice::Policy(policy) = asked {
            return policy;
        }
        let (policy, why) = match (self.block(frames), need) {
            (Some(block), None) => {
                let why = block.reasons.last().map_or("", String::as_str);
                (block.policy, format!("by the machine profile: {why}"))
            }
            _ => sibling_policy(topology, need),
        };
        told_once(policy, &why);
        policy
    }

    /// Measured speeds of the seats.
    pub fn speeds(&self) -> SeatSpeeds {
        let Some((_, profile)) = &self.profile else { return SeatSpeeds::default() };
        let by_cpu = profile.seats.iter().map(|seat| (seat.cpu, seat.speed)).collect();
        SeatSpeeds { by_cpu, pair: profile.together.pair_speed }
    }

    /// The part of its speed that is left to a busy seat beside a busy sibling.
    pub fn pair_speed(&self) -> f64 {
        let assumed = hocket_plan::schedule::Team::PAIR_SPEED_UNMEASURED;
        self.profile.as_ref().map_or(assumed, |(_, p)| p.together.pair_speed_or_assumed())
    }

    /// The settings with what is known of the machine in them.
    pub fn inform(&self, settings: Settings) -> Settings {
        let Some((_, profile)) = &self.profile else { return settings };
        let usual = Overheads::MEASURED_NS;
        let together = &profile.together;
        Settings {
            found_before: self.parallel(settings.frames),
            overheads: Overheads {
                start: together.start_ns.unwrap_or(usual.start),
                hand_over: together.hand_over_ns.unwrap_or(usual.hand_over),
                ..usual
            },
            ..settings
        }
    }

    /// When the profile was made that decides, where one does.
    pub(crate) fn made(&self) -> Option<&str> {
        self.profile.as_ref().map(|(_, profile)| profile.made.as_str())
    }

    /// Says on standard error which profile decides, where one does.
    pub fn tell(&self) {
        if let Some((path, profile)) = &self.profile {
            let path = path.display();
            note(format_args!("defaults by the machine profile {path} of {}", profile.made));
        }
    }
}

/// Once a run: what `auto` came to.
fn told_once(policy: SiblingPolicy, why: &str) {
    static TOLD: std::sync::Mutex<Option<String>> = std::sync::Mutex::new(None);
    let line = format!("policy auto is {} here: {why}", policy.name());
    let mut told = TOLD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if told.as_ref() != Some(&line) {
        note(&line);
        *told = Some(line);
    }
}

/// A profile that can be read and still holds, or why not.
fn held(path: &Path, topology: &Topology) -> Result<Profile, String> {
    let profile = Profile::read(path).map_err(|error| match error {
        ProfileError::Read { .. } => format!("{error}; `hocket tune` writes one"),
        ProfileError::Content { .. } => error.to_string(),
    })?;
    let changed = profile.holds_while.changed(&Conditions::of(&facts::read(), topology));
    match changed.is_empty() {
        true => Ok(profile),
        false => Err(format!(
            "machine profile {} of {} no longer holds: {}; run `hocket tune` again",
            path.display(),
            profile.made,
            changed.join(", ")
        )),
    }
}
