//! Sessions whose long files play from the disk sound like those in memory.

use super::*;
use hocket_c::streams::*;
use hocket_c::transport::*;

const RATE_HZ: u32 = 48_000;
const SECONDS: u32 = 12;

/// A stereo file of 16 bits whose samples tell their frames, and a session that plays it.
fn session(folder: &tempfile::TempDir) -> CString {
    write_wav(&folder.path().join("long.wav"), RATE_HZ);
    session_of(folder, &["long.wav"])
}

/// A session with a track for each of these files.
fn session_of(folder: &tempfile::TempDir, files: &[&str]) -> CString {
    let track = |file: &&str| {
        format!("[[track]]\nname = \"{file}\"\nclip = [{{ file = \"{file}\" }}]\ngain_db = -6\n")
    };
    let tracks: String = files.iter().map(track).collect();
    let path = folder.path().join("session.toml");
    std::fs::write(&path, format!("[session]\nsample_rate_hz = {RATE_HZ}\n{tracks}")).unwrap();
    CString::new(path.to_str().unwrap()).unwrap()
}

fn write_wav(path: &std::path::Path, rate_hz: u32) {
    let frames = rate_hz * SECONDS;
    let bytes = frames * 4;
    let mut file = Vec::new();
    file.extend(b"RIFF");
    file.extend((36 + bytes).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    file.extend([1_u16, 2].map(u16::to_le_bytes).concat());
    file.extend([rate_hz, rate_hz * 4].map(u32::to_le_bytes).concat());
    file.extend([4_u16, 16].map(u16::to_le_bytes).concat());
    file.extend(b"data");
    file.extend(bytes.to_le_bytes());
    for frame in 0..frames {
        file.extend([frame as i16, (frame / 7) as i16].map(i16::to_le_bytes).concat());
    }
    std::fs::write(path, file).unwrap();
}

fn load(path: &CStr, disk: *const DiskUse) -> (*mut Session, String) {
    // SAFETY: told.
    told(|error| unsafe { hocket_session_load_streaming(path.as_ptr(), 0, disk, error) })
}

/// File, frames of silence and how many gaps, of each clip that streams.
type Silences = Vec<(String, u64, usize)>;

unsafe extern "C" fn keep(user: *mut c_void, silence: *const StreamSilence) {
    // SAFETY: told.
    unsafe {
        let silence = &*silence;
        for at in 0..silence.gap_count {
            assert!(!CStr::from_ptr((*silence.gaps.add(at)).cause).is_empty());
        }
        let file = CStr::from_ptr(silence.file).to_str().unwrap().to_owned();
        (*user.cast::<Silences>()).push((file, silence.frames, silence.gap_count));
    }
}

fn silences(session: *const Session) -> Silences {
    let mut all = Silences::new();
    let user = (&raw mut all).cast();
    // SAFETY: told.
    let status = unsafe { hocket_session_silences(session, Some(keep), user, null_mut()) };
    assert_eq!(status, Status::Ok);
    all
}

/// Plays from the start, then from another place.
fn play(session: *const Session) -> Vec<[f32; 64]> {
    let settings = Settings { workers: 1, rate_hz: 0, ..settings() };
    // SAFETY: told.
    unsafe {
        let (engine, text) = told(|error| hocket_engine_start(session, &settings, error));
        assert!(!engine.is_null(), "{text}");
        while hocket_session_fill(session, 1000, null_mut()) == Status::Busy {}
        let mut heard: Vec<_> = (0..200).map(|_| process_left(engine)).collect();
        let far = 9 * i64::from(RATE_HZ);
        while hocket_session_preroll(session, far, 1000, null_mut()) == Status::Busy {}
        let jump = Command { action: HOCKET_LOCATE, at_steady_frame: 0, frame: far, end: 0 };
        assert_eq!(hocket_engine_transport(engine, &jump, null_mut()), Status::Ok);
        heard.extend((0..200).map(|_| process_left(engine)));
        let streams = silences(session);
        let is_whole = |(_, frames, gaps): &(String, u64, usize)| (*frames, *gaps) == (0, 0);
        assert!(streams.iter().all(is_whole), "{streams:?}");
        println!("{} streams", streams.len());
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
        heard
    }
}

fn process_left(engine: *const Engine) -> [f32; 64] {
    let [mut left, mut right] = [[0.0; 64]; 2];
    // SAFETY: told.
    let status = unsafe {
        hocket_engine_process(engine, 64, left.as_mut_ptr(), right.as_mut_ptr(), null_mut())
    };
    assert_eq!(status, Status::Ok);
    left
}

#[test]
fn a_session_sounds_the_same_from_the_disk() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = session(&folder);
    let disk = DiskUse { buffer_bytes: 16 << 20, waits: true, engines: 0 };
    let memory = DiskUse { buffer_bytes: 0, ..disk };
    let [streamed, decoded] = [disk, memory].map(|disk| {
        let (session, text) = load(&path, &disk);
        assert!(!session.is_null(), "{text}");
        session
    });
    assert_eq!((silences(streamed), silences(decoded)), (vec![], vec![]), "no engine runs");
    let (heard, expected) = (play(streamed), play(decoded));
    assert!(heard == expected && heard.iter().flatten().any(|sample| *sample != 0.0));
    // SAFETY: told.
    unsafe {
        let (engine, _) = told(|error| hocket_engine_start(streamed, &settings(), error));
        assert_eq!(silences(streamed).len(), 1, "it really streams");
        // The streams live on without the session.
        hocket_session_free(streamed);
        let first = std::array::from_fn::<_, 3, _>(|_| process_left(engine));
        assert_eq!(first, expected[..3]);
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
        hocket_session_free(decoded);
    }
}

fn warnings(session: *const Session) -> Vec<String> {
    // SAFETY: told.
    let lines = (0..).map(|index| unsafe { hocket_session_warning(session, index) });
    let lines = lines.take_while(|line| !line.is_null());
    // SAFETY: told.
    lines.map(|line| unsafe { CStr::from_ptr(line) }.to_str().unwrap().to_owned()).collect()
}

/// Silence at 44.1 kHz in so many MP3 frames, behind one that announces others.
fn write_mp3(path: &std::path::Path, frames: usize, announced: u32) {
    let mut frame = vec![0; 417];
    frame[..4].copy_from_slice(&[0xff, 0xfb, 0x90, 0x00]);
    let mut first = frame.clone();
    first[36..44].copy_from_slice(b"Xing\0\0\0\x01");
    first[44..48].copy_from_slice(&announced.to_be_bytes());
    std::fs::write(path, [first, frame.repeat(frames)].concat()).unwrap();
}

/// An MP3 file of 22.05 kHz that was joined many times.
fn joined_mp3() -> Vec<u8> {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/audio");
    let one = std::fs::read(format!("{corpus}/mp3-48k-22k05-mono-mpeg2.mp3")).unwrap();
    one.repeat(40)
}

/// They play from temporary files.
#[test]
fn files_that_cannot_stream_as_they_are_sound_the_same_from_the_disk() {
    let folder = tempfile::TempDir::new().unwrap();
    write_wav(&folder.path().join("long.wav"), RATE_HZ);
    write_wav(&folder.path().join("other.wav"), 44_100);
    std::fs::write(folder.path().join("joined.mp3"), joined_mp3()).unwrap();
    write_mp3(&folder.path().join("cut.mp3"), 1000, 1500);
    let path = session_of(&folder, &["long.wav", "other.wav", "joined.mp3", "cut.mp3"]);
    let disk = DiskUse { buffer_bytes: 16 << 20, waits: true, engines: 1 };
    let [streamed, decoded] = [disk, DiskUse { buffer_bytes: 0, ..disk }].map(|disk| {
        let (session, text) = load(&path, &disk);
        assert!(!session.is_null(), "{text}");
        session
    });
    let lines = warnings(streamed);
    assert!(lines.len() == 1 && lines[0].contains("ends early"), "{lines:?}");
    assert!(lines[0].ends_with("what can be read is played; replace the file"), "{lines:?}");
    assert_eq!(lines, warnings(decoded));
    let (heard, expected) = (play(streamed), play(decoded));
    assert!(heard == expected && heard.iter().flatten().any(|sample| *sample != 0.0));
    // SAFETY: told.
    unsafe {
        let (engine, _) = told(|error| hocket_engine_start(streamed, &settings(), error));
        let names: Vec<String> = silences(streamed).into_iter().map(|(file, ..)| file).collect();
        assert!(names.len() == 4 && names[1].ends_with("other.wav"), "{names:?}");
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
        hocket_session_free(streamed);
        hocket_session_free(decoded);
    }
}

/// As the program says it, but for how a host changes what decides.
#[test]
fn files_that_cannot_be_played_are_all_refused_with_place_and_remedy() {
    let folder = tempfile::TempDir::new().unwrap();
    // It announces 8 hours and 42 minutes.
    write_mp3(&folder.path().join("long.mp3"), 20, 1_200_000);
    std::fs::write(folder.path().join("empty.wav"), []).unwrap();
    std::fs::write(folder.path().join("text.wav"), "no sound at all").unwrap();
    let memory = DiskUse { buffer_bytes: 0, waits: true, engines: 1 };
    let refused = |files: &[&str], words: &[&str]| {
        let (session, text) = load(&session_of(&folder, files), &memory);
        assert!(session.is_null());
        for word in words {
            assert!(text.contains(word), "'{word}' is not in {text}");
        }
    };
    let of_header =
        ["the file is empty", "not an audio file", "session.toml:5:", "session.toml:9:"];
    refused(&["empty.wav", "text.wav"], &of_header);
    let too_long = ["536870912 samples", "hocket_session_load_streaming", "disk.buffer_bytes"];
    refused(&["long.mp3"], &too_long);
}

/// In the process that has no folder for temporary files: the session that it loads.
const WITHOUT_FOLDER: &str = "HOCKET_TEST_WITHOUT_FOLDER";

/// In a process of its own, because the folder is the process's.
#[test]
fn a_folder_for_temporary_files_that_is_missing_is_told_for_every_file() {
    const NAME: &str =
        "streams::a_folder_for_temporary_files_that_is_missing_is_told_for_every_file";
    if let Ok(path) = std::env::var(WITHOUT_FOLDER) {
        let disk = DiskUse { buffer_bytes: 16 << 20, waits: true, engines: 1 };
        let (session, text) = load(&CString::new(path).unwrap(), &disk);
        assert!(session.is_null());
        let place = |name: &str| text.find(&format!("{name}': no temporary file for it")).unwrap();
        assert!(place("a.mp3") < place("b.mp3") && !text.contains("long.wav': "), "{text}");
        assert!(text.contains("the folder does not exist") && text.contains("TMPDIR"), "{text}");
        return;
    }
    let folder = tempfile::TempDir::new().unwrap();
    write_wav(&folder.path().join("long.wav"), RATE_HZ);
    for name in ["a.mp3", "b.mp3"] {
        std::fs::write(folder.path().join(name), joined_mp3()).unwrap();
    }
    let path = session_of(&folder, &["a.mp3", "long.wav", "b.mp3"]);
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME])
        .env(WITHOUT_FOLDER, path.to_str().unwrap())
        .env("TMPDIR", folder.path().join("none"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn what_cannot_stream_is_refused_with_a_reason() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = session(&folder);
    let small = DiskUse { buffer_bytes: 1000, waits: false, engines: 1 };
    let (none, text) = load(&path, &small);
    assert!(none.is_null() && text.contains("too little for 1 clip"), "{text}");
    assert!(load(&path, null()).1.contains("disk is NULL"));
    // SAFETY: told.
    unsafe {
        let text = told(|error| hocket_session_fill(null(), 0, error)).1;
        assert!(text.contains("session is NULL"), "{text}");
        let (session, text) = load(&path, &DiskUse { buffer_bytes: 0, ..small });
        assert!(!session.is_null(), "{text}");
        let text = told(|error| hocket_session_preroll(session, i64::MIN, 0, error)).1;
        assert!(text.contains("no song reaches"), "{text}");
        let text = told(|error| hocket_session_silences(session, None, null_mut(), error)).1;
        assert!(text.contains("each is NULL"), "{text}");
        hocket_session_free(session);
    }
}
