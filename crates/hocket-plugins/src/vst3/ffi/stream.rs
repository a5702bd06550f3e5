//! Bytes that a plug-in reads or writes.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vst3::Steinberg::IBStream_::IStreamSeekMode_::{kIBSeekCur, kIBSeekEnd, kIBSeekSet};
use vst3::Steinberg::{
    IBStream, IBStreamTrait, kInvalidArgument, kOutOfMemory, kResultFalse, kResultOk, tresult,
};
use vst3::{Class, ComWrapper};

use super::put;

/// The most that a plug-in may keep.
const STATE_BYTES: usize = 256 << 20;

/// Bytes, and a place in them.
#[derive(Default)]
pub struct Stream(Mutex<(Vec<u8>, usize)>);

impl Class for Stream {
    type Interfaces = (IBStream,);
}

impl Stream {
    /// To read from its beginning, or to write behind it.
    pub fn of(bytes: &[u8]) -> ComWrapper<Stream> {
        ComWrapper::new(Stream(Mutex::new((bytes.to_vec(), 0))))
    }

    /// What is in it.
    pub fn bytes(&self) -> Vec<u8> {
        self.lock().0.clone()
    }

    fn lock(&self) -> MutexGuard<'_, (Vec<u8>, usize)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IBStreamTrait for Stream {
    unsafe fn read(&self, buffer: *mut c_void, bytes: i32, read: *mut i32) -> tresult {
        let (Ok(wanted), false) = (usize::try_from(bytes), buffer.is_null()) else {
            return kInvalidArgument;
        };
        let mut stream = self.lock();
        let (all, place) = &mut *stream;
        let from = all.get(*place..).unwrap_or_default();
        let count = wanted.min(from.len());
        // SAFETY: Written by the host: the buffer has room for as many bytes as were wanted.
        unsafe {
            buffer.cast::<u8>().copy_from_nonoverlapping(from.as_ptr(), count);
            put(read, count as i32);
        }
        *place += count;
        kResultOk
    }

    unsafe fn write(&self, buffer: *mut c_void, bytes: i32, written: *mut i32) -> tresult {
        let (Ok(count), false) = (usize::try_from(bytes), buffer.is_null()) else {
            return kInvalidArgument;
        };
        let mut stream = self.lock();
        let (all, place) = &mut *stream;
        let end = *place + count;
        if end > STATE_BYTES {
            return kOutOfMemory;
        }
        if all.len() < end {
            all.resize(end, 0);
        }
        // SAFETY: Written by the host, in the other direction: the buffer has as many bytes as the plug-in says.
        unsafe {
            all[*place..end].as_mut_ptr().copy_from_nonoverlapping(buffer.cast::<u8>(), count);
            put(written, count as i32);
        }
        *place = end;
        kResultOk
    }

    unsafe fn seek(&self, by: i64, mode: i32, result: *mut i64) -> tresult {
        let mut stream = self.lock();
        let from = match u32::try_from(mode) {
            Ok(mode) if mode == kIBSeekSet => 0,
            Ok(mode) if mode == kIBSeekCur => stream.1 as i64,
            Ok(mode) if mode == kIBSeekEnd => stream.0.len() as i64,
            _ => return kInvalidArgument,
        };
        let place = from.checked_add(by).and_then(|place| usize::try_from(place).ok());
        let Some(place) = place.filter(|place| *place <= STATE_BYTES) else { return kResultFalse };
        stream.1 = place;
        // SAFETY: Written by the host.
        unsafe { put(result, place as i64) };
        kResultOk
    }

    unsafe fn tell(&self, place: *mut i64) -> tresult {
        // SAFETY: Written by the host.
        if unsafe { put(place, self.lock().1 as i64) } { kResultOk } else { kInvalidArgument }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_from_any_place() {
        let stream = Stream::of(b"");
        let (mut count, mut place) = (0, 0);
        let mut bytes = *b"abcdef";
        let mut two = [0_u8; 2];
        // SAFETY: Types: the buffers are as long as is said.
        unsafe {
            assert_eq!(stream.write(bytes.as_mut_ptr().cast(), 6, &raw mut count), kResultOk);
            assert_eq!((count, stream.seek(-2, kIBSeekEnd as i32, &raw mut place)), (6, kResultOk));
            assert_eq!(stream.read(two.as_mut_ptr().cast(), 2, &raw mut count), kResultOk);
            assert_eq!((place, count, &two), (4, 2, b"ef"));
            assert_eq!(stream.read(two.as_mut_ptr().cast(), 2, &raw mut count), kResultOk);
            assert_eq!(count, 0, "there is no more");
            assert_eq!(stream.seek(-1, kIBSeekSet as i32, &raw mut place), kResultFalse);
            assert_eq!(stream.read(two.as_mut_ptr().cast(), -1, &raw mut count), kInvalidArgument);
        }
        assert_eq!(stream.bytes(), b"abcdef");
    }
}
