//! Memory that ends, or starts, exactly at a page nobody may touch: one element read or written
//! too far and the test dies.

use core::cell::Cell;
use core::ptr;
use std::sync::Once;

/// Which edge of the buffer lies at the forbidden page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The last element ends at the page: catches reads and writes past the end.
    End,
    /// The first element starts after the page: catches what lies before the start.
    Start,
}

/// A copy of some elements between two forbidden pages.
pub struct Guarded<T> {
    map: *mut libc::c_void,
    map_len: usize,
    first: *mut T,
    len: usize,
}

impl<T: Copy> Guarded<T> {
    /// Copies `data` so that it touches the forbidden page at `edge`.
    pub fn new(data: &[T], edge: Edge) -> Guarded<T> {
        // SAFETY: sysconf only reads a constant of the system.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let bytes = size_of_val(data);
        let body = bytes.div_ceil(page).max(1) * page;
        let map_len = body + 2 * page;
        // SAFETY: a fresh anonymous mapping; nothing else is replaced (no MAP_FIXED).
        let map = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(
                ptr::null_mut(),
                map_len,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        assert_ne!(map, libc::MAP_FAILED, "mmap of {map_len} bytes failed");
        let offset = match edge {
            Edge::End => page + body - bytes,
            Edge::Start => page,
        };
        // SAFETY: offset + bytes <= page + body lies inside the mapping; page sizes and the size
        // of T are multiples of T's alignment; the two protected pages lie outside the copy.
        let first = unsafe {
            let first = map.cast::<u8>().add(offset).cast::<T>();
            ptr::copy_nonoverlapping(data.as_ptr(), first, data.len());
            for forbidden in [0, page + body] {
                let rc = libc::mprotect(
                    map.cast::<u8>().add(forbidden).cast(),
                    page,
                    libc::PROT_NONE,
                );
                assert_eq!(rc, 0, "mprotect failed");
            }
            first
        };
        Guarded {
            map,
            map_len,
            first,
            len: data.len(),
        }
    }

    /// Pointer to the first element.
    pub fn as_ptr(&self) -> *const T {
        self.first
    }

    /// Pointer to the first element, for writing.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.first
    }

    /// The elements.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: `len` initialised elements lie at `first` as long as the mapping lives.
        unsafe { core::slice::from_raw_parts(self.first, self.len) }
    }

    /// The elements, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as for `as_slice`, and `self` is borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.first, self.len) }
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length and is not used again.
        unsafe { libc::munmap(self.map, self.map_len) };
    }
}

thread_local! {
    /// What this thread is doing, for the signal handler: address and length of a text.
    static LABEL: Cell<(*const u8, usize)> = const { Cell::new((ptr::null(), 0)) };
}

/// Runs `f`; should it touch a forbidden page, `label` is printed before the process dies.
pub fn during<R>(label: &str, f: impl FnOnce() -> R) -> R {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let handler: extern "C" fn(libc::c_int) = on_fault;
        // SAFETY: the handler makes only calls that are allowed in a signal handler.
        unsafe { libc::signal(libc::SIGSEGV, handler as libc::sighandler_t) };
    });
    LABEL.set((label.as_ptr(), label.len()));
    let result = f();
    LABEL.set((ptr::null(), 0));
    result
}

extern "C" fn on_fault(signal: libc::c_int) {
    let print = |text: *const u8, len: usize| {
        // SAFETY: the text outlives the call of `during` that is running on this thread.
        unsafe { libc::write(2, text.cast(), len) };
    };
    let (text, len) = LABEL.get();
    let (before, after) = ("\nOUT OF BOUNDS: ", "\n");
    print(before.as_ptr(), before.len());
    print(text, len);
    print(after.as_ptr(), after.len());
    // SAFETY: with the default action back, the same access faults again and ends the process.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

#[cfg(test)]
mod tests {
    use super::{Edge, Guarded, during};

    #[test]
    fn holds_its_data_at_either_edge() {
        for n in [0usize, 1, 3, 1023, 1024, 1025, 5000] {
            let data: Vec<f32> = (0..n).map(|i| i as f32).collect();
            for edge in [Edge::End, Edge::Start] {
                let guarded = Guarded::new(&data, edge);
                assert_eq!(guarded.as_slice(), &data[..]);
                let boundary =
                    guarded.as_ptr() as usize + if edge == Edge::End { 4 * n } else { 0 };
                assert_eq!(boundary % 4096, 0);
            }
        }
    }

    /// The guard itself: started by `the_guard_catches_an_over_read`, this reads too far.
    #[test]
    #[ignore = "started by the_guard_catches_an_over_read"]
    fn child_reads_too_far() {
        let x = Guarded::new(&[1.0f64; 5], Edge::End);
        // SAFETY: none: element 5 lies in the forbidden page, which is the point.
        let read = during("one element too far", || unsafe {
            x.as_ptr().add(5).read_volatile()
        });
        println!("read {read}");
    }

    #[test]
    fn the_guard_catches_an_over_read() {
        let own = std::env::current_exe().expect("own path");
        let child = std::process::Command::new(own)
            .args(["--exact", "guard::tests::child_reads_too_far", "--ignored"])
            .output();
        let child = child.expect("own binary");
        let text = String::from_utf8_lossy(&child.stderr);
        assert!(!child.status.success(), "the over-read went unnoticed");
        assert!(
            text.contains("OUT OF BOUNDS: one element too far"),
            "{text}"
        );
    }
}
