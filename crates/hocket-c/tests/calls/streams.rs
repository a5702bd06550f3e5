//! Sessions whose long files play from the disk sound like those in memory.

use std::io::Write;

use super::*;
use hocket_c::streams::*;
use hocket_c::transport::*;

const RATE_HZ: u32 = 48_000;
const SECONDS: u32 = 12;

/// A stereo file of 16 bits whose samples tell their frames, and a session that plays it.
fn session(folder: &tempfile::TempDir) -> CString {
    let frames = RATE_HZ * SECONDS;
    let bytes = frames * 4;
    let mut file = Vec::new();
    file.extend(b"RIFF");
    file.extend((36 + bytes).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    file.extend([1_u16, 2].map(u16::to_le_bytes).concat());
    file.extend([RATE_HZ, RATE_HZ * 4].map(u32::to_le_bytes).concat());
    file.extend([4_u16, 16].map(u16::to_le_bytes).concat());
    file.extend(b"data");
    file.extend(bytes.to_le_bytes());
    for frame in 0..frames {
        file.extend([frame as i16, (frame / 7) as i16].map(i16::to_le_bytes).concat());
    }
    let mut wav = std::fs::File::create(folder.path().join("long.wav")).unwrap();
    wav.write_all(&file).unwrap();
    let text = "[session]\nsample_rate_hz = 48000\n[[track]]\nname = \"long\"\nclip = [{ file = \"long.wav\" }]\n";
    let path = folder.path().join("session.toml");
    std::fs::write(&path, text).unwrap();
    CString::new(path.to_str().unwrap()).unwrap()
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
        assert!(streams.iter().all(|(file, frames, gaps)| {
            file.ends_with("long.wav") && (*frames, *gaps) == (0, 0)
        }));
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
