//! A CLAP plug-in for the tests: a gain with a delay that it reports as latency, and a state. A delay of more than 1000
//! frames, which only a state can have, makes it a plug-in of one channel.
//!
//! With `pools` in its file name, it asks the host's thread pool to compute its output, and fails if that goes wrong. With
//! `trips`, the gain decides in a block whether it misbehaves: [`SEGFAULT`] and so on.
//!
//! With `outputs` in its file name, it has two further output ports: `Kick`, which is its main output upside down, and `Click`,
//! of one channel, which is the sum of both sides.
//!
//! With `presets` in its file name, it offers presets: `Quiet`, `Loud`, `Broken` and `Fatal` in itself, and one in each file
//! `*.gain` of the folder `gains` beside its file. Such a file holds a gain, as text.
//!
//! Its file name decides how it loads: one with `crashes`, `hangs` or `prints` in it does so. The name also decides how it
//! misbehaves later (`Mode`).
#![allow(unsafe_code, reason = "the macro that exports the entry")]
#![allow(missing_docs)]

use std::ffi::{CStr, CString};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use clack_extensions::audio_ports::{
    AudioPortFlags, AudioPortInfo, AudioPortInfoWriter, AudioPortType, PluginAudioPorts,
    PluginAudioPortsImpl,
};
use clack_extensions::latency::{PluginLatency, PluginLatencyImpl};
use clack_extensions::params::{
    ParamDisplayWriter, ParamInfo, ParamInfoFlags, ParamInfoWriter, PluginAudioProcessorParams,
    PluginMainThreadParams, PluginParams,
};
use clack_extensions::preset_discovery::prelude::*;
use clack_extensions::state::{PluginState, PluginStateImpl};
use clack_extensions::thread_check::HostThreadCheck;
use clack_extensions::thread_pool::{HostThreadPool, PluginThreadPool, PluginThreadPoolImpl};
use clack_plugin::clack_export_entry;
use clack_plugin::entry::prelude::*;
use clack_plugin::events::spaces::CoreEventSpace;
use clack_plugin::prelude::*;
use clack_plugin::stream::{InputStream, OutputStream};
use clack_plugin::utils::Cookie;

struct Fixture;

const GAIN: u32 = 11;
const DELAY: u32 = 12;

/// Of a plug-in that trips, the gains with which it crashes, hangs, puts out what is not finite, and writes over all memory
/// that it shares with another process.
const SEGFAULT: f32 = 3.5;
const STALL: f32 = 3.25;
const NOT_FINITE: f32 = 3.125;
const SCRIBBLE: f32 = 3.75;

/// How it misbehaves, by what is in its file name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Not at all.
    Good,
    /// `segfaults`: in its first block.
    Segfaults,
    /// `stalls`: in its first block.
    Stalls,
    /// `nan`: its output is.
    Nan,
    /// `allocates`: in each block.
    Allocates,
    /// `forgets`: a state's gain.
    Forgets,
    /// `restarts`: asks to be made anew in its first block.
    Restarts,
    /// `errs`: cannot process every second block.
    Errs,
    /// `trips`: when a change of its gain asks for it.
    Trips,
    /// `sleeps`: for longer than a usual block lasts, in each block.
    Sleeps,
    /// `pools`: not at all, but the host's threads compute it.
    Pools,
    /// `kicks`: the output `Kick` is not finite.
    Kicks,
    /// `counts`: the output `Click` says how many runs there were.
    Counts,
}

static MODE: OnceLock<Mode> = OnceLock::new();

/// Whether it has further outputs.
static HAS_OUTPUTS: AtomicBool = AtomicBool::new(false);

impl Mode {
    fn of(name: &str) -> Mode {
        let modes = [
            ("segfaults", Mode::Segfaults),
            ("stalls", Mode::Stalls),
            ("nan", Mode::Nan),
            ("allocates", Mode::Allocates),
            ("forgets", Mode::Forgets),
            ("restarts", Mode::Restarts),
            ("errs", Mode::Errs),
            ("trips", Mode::Trips),
            ("pools", Mode::Pools),
            ("sleeps", Mode::Sleeps),
            ("kicks", Mode::Kicks),
            ("counts", Mode::Counts),
        ];
        modes.iter().find(|(part, _)| name.contains(part)).map_or(Mode::Good, |(_, mode)| *mode)
    }

    fn now() -> Mode {
        MODE.get().copied().unwrap_or(Mode::Good)
    }

    /// What it does before a block.
    fn misbehave(self) {
        match self {
            Mode::Segfaults => segfault(),
            Mode::Stalls => stall(),
            Mode::Sleeps => std::thread::sleep(std::time::Duration::from_millis(60)),
            Mode::Allocates => drop(std::hint::black_box(vec![0_u8; 1000])),
            _ => {}
        }
    }
}

fn segfault() {
    // SAFETY: none, on purpose: nothing is at this address.
    unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) }
}

fn stall() {
    std::thread::sleep(std::time::Duration::from_secs(3600));
}

/// Writes over the memory that this process shares with the one that started it, again and again.
fn scribble() {
    std::thread::spawn(|| {
        loop {
            scribble_once();
        }
    });
}

fn scribble_once() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for line in maps.lines().filter(|line| line.contains("hocket-isolated")) {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).unwrap_or(0);
        let (start, end) = range.map_or((0, 0), |(start, end)| (number(start), number(end)));
        // SAFETY: none for the other process, on purpose. The addresses are those of a mapping that may be written.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(start).write_bytes(0xff, end - start) }
    }
}

/// What a change of the gain asks for, of a plug-in that trips.
fn trip(gain: f32) {
    match gain {
        SEGFAULT => segfault(),
        STALL => stall(),
        SCRIBBLE => scribble(),
        _ => {}
    }
}

/// Values as bits, in the order of the parameters.
struct Values([AtomicU32; 2]);

impl Values {
    fn get(&self, index: usize) -> f32 {
        f32::from_bits(self.0[index].load(Relaxed))
    }

    fn set(&self, index: usize, value: f32) {
        self.0[index].store(value.to_bits(), Relaxed);
    }

    fn take(&self, event: &UnknownEvent) {
        if let Some(CoreEventSpace::ParamValue(event)) = event.as_core_event() {
            match event.param_id().map(|id| id.get()) {
                Some(GAIN) => self.set(0, event.value() as f32),
                Some(DELAY) => self.set(1, event.value() as f32),
                _ => {}
            }
        }
    }
}

/// What all threads of an instance share.
struct Shared<'a> {
    values: Values,
    pool: Pool<'a>,
}

impl<'a> PluginShared<'a> for Shared<'a> {}

/// Into how many tasks a run is divided.
const TASKS: u32 = 8;
/// Frames of the longest run.
const LONGEST: usize = 4096;

/// A run that the host's threads compute.
struct Pool<'a> {
    host: HostSharedHandle<'a>,
    check: Option<HostThreadCheck>,
    /// The rows of both channels, one after the other, as bits.
    samples: Vec<AtomicU32>,
    frames: AtomicU32,
    /// How many tasks ran, and how many of them on a thread that said it was another one.
    ran: AtomicU32,
    wrong: AtomicU32,
}

impl<'a> Pool<'a> {
    fn new(host: HostSharedHandle<'a>) -> Pool<'a> {
        let samples = (0..2 * LONGEST).map(|_| AtomicU32::new(0)).collect();
        let zero = || AtomicU32::new(0);
        let check = host.get_extension();
        Pool { host, check, samples, frames: zero(), ran: zero(), wrong: zero() }
    }

    /// Whether the calling thread is the main thread, and the audio thread.
    fn threads(&self) -> Option<(bool, bool)> {
        let check = self.check?;
        check.is_main_thread(&self.host).zip(check.is_audio_thread(&self.host))
    }

    /// What becomes of each sample, beside the gain: enough work that other threads come in time.
    fn bend(sample: f32) -> f32 {
        (0..200).fold(sample, |sample, _| sample - 0.01 * sample * sample * sample)
    }

    /// Computes what is in `rows`, with the host's threads. `false`: something went wrong.
    fn run(&self, host: &mut HostAudioProcessorHandle<'_>, rows: &mut [&mut [f32]]) -> bool {
        let frames = rows.first().map_or(0, |row| row.len());
        let place = |(channel, frame): (usize, usize)| &self.samples[channel * frames + frame];
        for (channel, row) in rows.iter().enumerate() {
            for (frame, sample) in row.iter().enumerate() {
                place((channel, frame)).store(sample.to_bits(), Relaxed);
            }
        }
        self.frames.store((rows.len() * frames) as u32, Relaxed);
        self.ran.store(0, Relaxed);
        let before = self.threads() == Some((false, true));
        let Some(pool) = host.get_extension::<HostThreadPool>() else { return false };
        let asked = pool.request_exec(host, TASKS).is_ok();
        let after = self.threads() == Some((false, true));
        for (channel, row) in rows.iter_mut().enumerate() {
            for (frame, sample) in row.iter_mut().enumerate() {
                *sample = f32::from_bits(place((channel, frame)).load(Relaxed));
            }
        }
        let all = self.ran.load(Relaxed) == TASKS && self.wrong.load(Relaxed) == 0;
        before && asked && after && all
    }
}

impl PluginThreadPoolImpl for Shared<'_> {
    fn exec(&self, task: u32) {
        let pool = &self.pool;
        let count = pool.frames.load(Relaxed) as usize;
        let part = |task: u32| count * task as usize / TASKS as usize;
        for sample in &pool.samples[part(task)..part(task + 1)] {
            let bent = Pool::bend(f32::from_bits(sample.load(Relaxed)));
            sample.store(bent.to_bits(), Relaxed);
        }
        let is_wrong = pool.threads() != Some((false, false));
        pool.wrong.fetch_add(u32::from(is_wrong), Relaxed);
        pool.ran.fetch_add(1, Relaxed);
    }
}

struct Main<'a> {
    host: HostMainThreadHandle<'a>,
    values: &'a Values,
}

impl<'a> PluginMainThread<'a, Shared<'a>> for Main<'a> {}

struct Sound<'a> {
    host: HostAudioProcessorHandle<'a>,
    values: &'a Values,
    pool: &'a Pool<'a>,
    has_asked: bool,
    blocks: u64,
    delayed: [Vec<f32>; 2],
    at: usize,
    /// The main output, for the further ones.
    main: [Vec<f32>; 2],
}

impl Plugin for Fixture {
    type AudioProcessor<'a> = Sound<'a>;
    type Shared<'a> = Shared<'a>;
    type MainThread<'a> = Main<'a>;

    fn declare_extensions(builder: &mut PluginExtensions<Self>, _: Option<&Shared<'_>>) {
        builder
            .register::<PluginAudioPorts>()
            .register::<PluginLatency>()
            .register::<PluginParams>()
            .register::<PluginPresetLoad>()
            .register::<PluginState>()
            .register::<PluginThreadPool>();
    }
}

impl DefaultPluginFactory for Fixture {
    fn get_descriptor() -> PluginDescriptor {
        PluginDescriptor::new("test.hocket.gain", "Test gain")
    }

    fn new_shared(host: HostSharedHandle<'_>) -> Result<Shared<'_>, PluginError> {
        let values = [1.0_f32, 0.0].map(|value| AtomicU32::new(value.to_bits()));
        Ok(Shared { values: Values(values), pool: Pool::new(host) })
    }

    fn new_main_thread<'a>(
        host: HostMainThreadHandle<'a>,
        shared: &'a Shared<'a>,
    ) -> Result<Main<'a>, PluginError> {
        Ok(Main { host, values: &shared.values })
    }
}

impl<'a> PluginAudioProcessor<'a, Shared<'a>, Main<'a>> for Sound<'a> {
    fn activate(
        host: HostAudioProcessorHandle<'a>,
        _: &Main<'a>,
        shared: &'a Shared<'a>,
        config: PluginAudioConfiguration,
    ) -> Result<Self, PluginError> {
        assert_eq!(config.min_frames_count, 1);
        let Shared { values, pool } = shared;
        let delay = values.get(1) as usize;
        let delayed = [vec![0.0; delay], vec![0.0; delay]];
        let main = [vec![0.0; LONGEST], vec![0.0; LONGEST]];
        Ok(Sound { host, values, pool, has_asked: false, blocks: 0, delayed, at: 0, main })
    }

    /// Values change at their frames.
    fn process(
        &mut self,
        _: Process,
        mut audio: Audio,
        events: Events,
    ) -> Result<ProcessStatus, PluginError> {
        Mode::now().misbehave();
        if Mode::now() == Mode::Restarts && !std::mem::replace(&mut self.has_asked, true) {
            self.host.shared().request_restart();
        }
        if Mode::now() == Mode::Trips {
            events.input.iter().filter_map(gain_at).for_each(|(_, gain)| trip(gain));
        }
        self.blocks += 1;
        if Mode::now() == Mode::Errs && self.blocks.is_multiple_of(2) {
            return Err(PluginError::Message("as asked"));
        }
        let mut port = audio.port_pair(0).ok_or(PluginError::Message("no ports"))?;
        let mut channels = port.channels()?.into_f32().ok_or(PluginError::Message("no f32"))?;
        let (begin, first) = (self.at, self.values.get(0));
        for (channel, pair) in channels.iter_mut().enumerate().take(2) {
            let (input, output) = match pair {
                ChannelPair::InputOutput(input, output) => (input, output),
                _ => return Err(PluginError::Message("not in and out")),
            };
            let (mut gain, mut next) = (first, events.input.iter().filter_map(gain_at).peekable());
            self.at = begin;
            for frame in 0..input.len() {
                while let Some((_, value)) = next.next_if(|(at, _)| *at as usize <= frame) {
                    gain = value;
                }
                let line = &mut self.delayed[channel];
                let sample = match line.len() {
                    0 => input[frame],
                    len => std::mem::replace(&mut line[self.at % len], input[frame]),
                };
                let trips = Mode::now() == Mode::Trips && gain == NOT_FINITE;
                let gain = if trips || Mode::now() == Mode::Nan { f32::NAN } else { gain };
                output[frame] = sample * gain;
                self.at += 1;
            }
            self.main[channel][..output.len()].copy_from_slice(output);
        }
        if Mode::now() == Mode::Pools {
            let pairs = channels.iter_mut().filter_map(|pair| match pair {
                ChannelPair::InputOutput(_, output) => Some(output),
                _ => None,
            });
            let mut rows: Vec<&mut [f32]> = pairs.collect();
            if !self.pool.run(&mut self.host, &mut rows) {
                return Err(PluginError::Message("the host's threads did not run it"));
            }
        }
        let last = events.input.iter().filter_map(gain_at).next_back();
        last.into_iter().for_each(|(_, gain)| self.values.set(0, gain));
        self.further(&mut audio)?;
        Ok(ProcessStatus::Continue)
    }

    fn reset(&mut self) {
        self.delayed.iter_mut().for_each(|line| line.fill(0.0));
        self.at = 0;
    }
}

impl Sound<'_> {
    /// Fills the further outputs.
    fn further(&mut self, audio: &mut Audio) -> Result<(), PluginError> {
        for port in 1..audio.output_port_count() {
            let mut port = audio.output_port(port).ok_or(PluginError::Message("no port"))?;
            let mut rows = port.channels()?.into_f32().ok_or(PluginError::Message("no f32"))?;
            let [left, right] = &self.main;
            let is_kick = rows.channel_count() == 2;
            for (row, main) in rows.iter_mut().zip([left, right]) {
                for (frame, sample) in row.iter_mut().enumerate() {
                    *sample = match (Mode::now(), is_kick) {
                        (Mode::Kicks, true) => f32::NAN,
                        (Mode::Counts, false) => self.blocks as f32,
                        (_, true) => -main[frame],
                        (_, false) => left[frame] + right[frame],
                    };
                }
            }
        }
        Ok(())
    }
}

/// The frame and the gain of a change of it.
fn gain_at(event: &UnknownEvent) -> Option<(u32, f32)> {
    let Some(CoreEventSpace::ParamValue(change)) = event.as_core_event() else { return None };
    let is_gain = change.param_id().map(|id| id.get()) == Some(GAIN);
    is_gain.then(|| (change.header().time(), change.value() as f32))
}

impl PluginAudioPortsImpl for Main<'_> {
    fn count(&self, is_input: bool) -> u32 {
        if !is_input && HAS_OUTPUTS.load(Relaxed) { 3 } else { 1 }
    }

    fn get(&self, index: u32, is_input: bool, writer: &mut AudioPortInfoWriter) {
        let (name, channel_count): (&[u8], u32) = match index {
            1 => (b"Kick", 2),
            _ => (b"Click", 1),
        };
        if (1..PluginAudioPortsImpl::count(self, is_input)).contains(&index) {
            writer.set(&AudioPortInfo {
                id: ClapId::new(index),
                name,
                channel_count,
                flags: AudioPortFlags::empty(),
                port_type: AudioPortType::from_channel_count(channel_count),
                in_place_pair: None,
            });
        }
        if index == 0 {
            writer.set(&AudioPortInfo {
                id: ClapId::new(0),
                name: b"main",
                channel_count: if self.values.get(1) > 1000.0 { 1 } else { 2 },
                flags: AudioPortFlags::IS_MAIN,
                port_type: Some(AudioPortType::STEREO),
                in_place_pair: None,
            });
        }
    }
}

impl PluginLatencyImpl for Main<'_> {
    fn get(&self) -> u32 {
        self.values.get(1) as u32
    }
}

impl PluginMainThreadParams for Main<'_> {
    fn count(&self) -> u32 {
        2
    }

    fn get_info(&self, index: u32, info: &mut ParamInfoWriter) {
        let (id, name, max, default): (u32, &[u8], _, _) = match index {
            0 => (GAIN, b"Output Gain", 4.0, 1.0),
            1 => (DELAY, b"Delay", 1000.0, 0.0),
            _ => return,
        };
        info.set(&ParamInfo {
            id: ClapId::new(id),
            flags: ParamInfoFlags::IS_AUTOMATABLE,
            cookie: Cookie::empty(),
            name,
            module: b"",
            min_value: 0.0,
            max_value: max,
            default_value: default,
        });
    }

    fn get_value(&self, id: ClapId) -> Option<f64> {
        Some(f64::from(self.values.get(usize::from(id.get() == DELAY))))
    }

    fn value_to_text(
        &self,
        _: ClapId,
        value: f64,
        writer: &mut ParamDisplayWriter,
    ) -> std::fmt::Result {
        write!(writer, "{value}")
    }

    fn text_to_value(&self, _: ClapId, text: &CStr) -> Option<f64> {
        text.to_str().ok()?.parse().ok()
    }

    fn flush(&self, events: &InputEvents, _: &mut OutputEvents) {
        events.iter().for_each(|event| self.values.take(event));
    }
}

impl PluginAudioProcessorParams for Sound<'_> {
    fn flush(&mut self, events: &InputEvents, _: &mut OutputEvents) {
        events.iter().for_each(|event| self.values.take(event));
    }
}

impl PluginStateImpl for Main<'_> {
    fn save(&self, output: &mut OutputStream) -> Result<(), PluginError> {
        for index in 0..2 {
            output.write_all(&self.values.get(index).to_le_bytes())?;
        }
        Ok(())
    }

    fn load(&self, input: &mut InputStream) -> Result<(), PluginError> {
        for index in 0..2 {
            let mut bytes = [0; 4];
            input.read_exact(&mut bytes)?;
            if index > 0 || Mode::now() != Mode::Forgets {
                self.values.set(index, f32::from_le_bytes(bytes));
            }
        }
        Ok(())
    }
}

/// Where the presets in files are.
static GAINS: OnceLock<CString> = OnceLock::new();

/// Presets in the plug-in itself: names, load keys, and the plug-in that they are for.
const OWN: [(&CStr, &CStr, &CStr); 5] = [
    (c"Quiet", c"quiet", c"test.hocket.gain"),
    (c"Loud", c"loud", c"test.hocket.gain"),
    (c"Broken", c"broken", c"test.hocket.gain"),
    (c"Fatal", c"fatal", c"test.hocket.gain"),
    (c"Foreign", c"loud", c"test.hocket.other"),
];

impl Main<'_> {
    fn refuse(&self, message: &'static CStr) -> PluginError {
        if let Some(host) = self.host.shared().get_extension::<HostPresetLoad>() {
            host.on_error(&self.host, Location::Plugin, None, 0, Some(message));
        }
        PluginError::Message("as asked")
    }
}

impl PluginPresetLoadImpl for Main<'_> {
    fn load_from_location(&self, place: Location, key: Option<&CStr>) -> Result<(), PluginError> {
        let gain = match (place, key.map(CStr::to_bytes)) {
            (Location::Plugin, Some(b"quiet")) => 0.25,
            (Location::Plugin, Some(b"loud")) => 2.0,
            (Location::Plugin, Some(b"fatal")) => std::process::abort(),
            (Location::File { path }, None) => {
                let text = std::fs::read_to_string(path.to_str()?)?;
                text.trim().parse().map_err(|_| self.refuse(c"the file holds no number"))?
            }
            _ => return Err(self.refuse(c"nobody can load it")),
        };
        self.values.set(0, gain);
        self.values.set(1, 10.0 * gain);
        Ok(())
    }
}

struct Presets(ProviderDescriptor);

struct Provided;

impl ProviderImpl<'_> for Provided {
    fn get_metadata(
        &mut self,
        place: Location,
        receiver: &mut MetadataReceiver,
    ) -> Result<(), PluginError> {
        let clap = |id| UniversalPluginId { abi: c"clap", id };
        if let Location::File { .. } = place {
            receiver.begin_preset(None, None)?.add_plugin_id(clap(c"test.hocket.gain"));
            return Ok(());
        }
        for (name, key, id) in OWN {
            receiver.begin_preset(Some(name), Some(key))?.add_plugin_id(clap(id));
        }
        Ok(())
    }
}

impl PresetDiscoveryFactoryImpl for Presets {
    fn provider_count(&self) -> u32 {
        1
    }

    fn provider_descriptor(&self, index: u32) -> Option<&ProviderDescriptor> {
        (index == 0).then_some(&self.0)
    }

    fn create_provider<'a>(
        &'a self,
        indexer: IndexerInfo<'a>,
        _: &CStr,
    ) -> Option<ProviderInstance<'a>> {
        Some(ProviderInstance::new(indexer, &self.0, |mut indexer| {
            indexer.declare_filetype(FileType {
                name: c"Gain",
                description: None,
                file_extension: Some(c"gain"),
            })?;
            let place =
                |location| LocationInfo { name: c"presets", flags: Flags::empty(), location };
            indexer.declare_location(place(Location::Plugin))?;
            if let Some(path) = GAINS.get() {
                indexer.declare_location(place(Location::File { path }))?;
            }
            Ok(Provided)
        }))
    }
}

/// Misbehaves as the file's name says.
struct FixtureEntry {
    plugin: SinglePluginEntry<Fixture>,
    presets: Option<PresetDiscoveryFactoryWrapper<Presets>>,
}

impl Entry for FixtureEntry {
    fn new(path: Option<&CStr>) -> Result<Self, EntryLoadError> {
        let path_text = path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let name = path_text.rsplit('/').next().unwrap_or_default();
        if name.contains("crashes") {
            std::process::abort();
        }
        while name.contains("hangs") {
            std::thread::sleep(std::time::Duration::from_secs(3600));
        }
        if name.contains("prints") {
            println!("{{\"ends\":null}}\na plug-in that prints");
        }
        MODE.get_or_init(|| Mode::of(name));
        HAS_OUTPUTS.store(name.contains("outputs"), Relaxed);
        let gains = format!("{}gains", path_text.strip_suffix(name).unwrap_or_default());
        let has_presets = name.contains("presets");
        if let (true, Ok(gains)) = (has_presets, CString::new(gains)) {
            GAINS.get_or_init(|| gains);
        }
        let provider = ProviderDescriptor::new("test.hocket.presets", "Test presets");
        let presets = has_presets.then(|| PresetDiscoveryFactoryWrapper::new(Presets(provider)));
        Ok(FixtureEntry { plugin: SinglePluginEntry::new(path)?, presets })
    }

    fn declare_factories<'a>(&'a self, builder: &mut EntryFactories<'a>) {
        self.plugin.declare_factories(builder);
        if let Some(presets) = &self.presets {
            builder.register_factory(presets);
        }
    }
}

clack_export_entry!(FixtureEntry);
