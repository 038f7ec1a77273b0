//! Memory that ends, or starts, exactly at a guard page: a read or write one element too far kills the test.
//! A GPU cannot use such memory: for its calls the guard pages are ordinary memory with a pattern that must
//! stay unchanged.

use core::cell::Cell;
use core::ptr;
use std::alloc::Layout;
use std::sync::Once;

use crate::gpu;

/// The edge of the buffer that touches a guard page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The last element ends at the page: catches reads and writes past the end.
    End,
    /// The first element starts right after the page: catches reads and writes before the start.
    Start,
}

/// The byte that fills the guard pages of an allocation.
const PATTERN: u8 = 0xA5;

/// A copy of some elements between two guard pages.
pub struct Guarded<T> {
    map: *mut u8,
    map_len: usize,
    page: usize,
    /// Whether the memory was mapped; otherwise it comes from the allocator.
    mapped: bool,
    first: *mut T,
    len: usize,
}

impl<T: Copy> Guarded<T> {
    /// Copies `data` to memory that touches the guard page at `edge`.
    pub fn new(data: &[T], edge: Edge) -> Guarded<T> {
        // SAFETY: sysconf only reads a constant of the system.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let bytes = size_of_val(data);
        let body = bytes.div_ceil(page).max(1) * page;
        let map_len = body + 2 * page;
        let mapped = !gpu::is_chosen();
        let map = if mapped {
            map_pages(map_len)
        } else {
            allocate(map_len, page)
        };
        let offset = match edge {
            Edge::End => page + body - bytes,
            Edge::Start => page,
        };
        // SAFETY: offset + bytes <= page + body lies inside the mapping; page sizes and the size
        // of T are multiples of T's alignment; the two protected pages lie outside the copy.
        let first = unsafe {
            let first = map.add(offset).cast::<T>();
            ptr::copy_nonoverlapping(data.as_ptr(), first, data.len());
            for guard_at in [0, page + body] {
                let start = map.add(guard_at);
                if mapped {
                    let rc = libc::mprotect(start.cast(), page, libc::PROT_NONE);
                    assert_eq!(rc, 0, "mprotect failed");
                } else {
                    start.write_bytes(PATTERN, page);
                }
            }
            first
        };
        Guarded {
            map,
            map_len,
            page,
            mapped,
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
        // SAFETY: `first` points to `len` initialised elements, which live as long as the mapping.
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
        if self.mapped {
            // SAFETY: the mapping was made by `new` with this length and is not used again.
            unsafe { libc::munmap(self.map.cast(), self.map_len) };
            return;
        }
        let intact = [0, self.map_len - self.page].iter().all(|&guard_at| {
            // SAFETY: a page of the allocation, filled by `new`.
            let page = unsafe { core::slice::from_raw_parts(self.map.add(guard_at), self.page) };
            page.iter().all(|&byte| byte == PATTERN)
        });
        // SAFETY: allocated by `new` with this layout, and not used again.
        unsafe { std::alloc::dealloc(self.map, layout(self.map_len, self.page)) };
        assert!(
            intact || std::thread::panicking(),
            "a call wrote outside its array"
        );
    }
}

fn map_pages(bytes: usize) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh anonymous mapping; nothing else is replaced (no MAP_FIXED).
    let map = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
    assert_ne!(map, libc::MAP_FAILED, "mmap of {bytes} bytes failed");
    map.cast()
}

fn layout(bytes: usize, page: usize) -> Layout {
    Layout::from_size_align(bytes, page).expect("a page is a power of two")
}

fn allocate(bytes: usize, page: usize) -> *mut u8 {
    // SAFETY: not empty.
    let start = unsafe { std::alloc::alloc(layout(bytes, page)) };
    assert!(!start.is_null(), "allocation of {bytes} bytes failed");
    start
}

thread_local! {
    /// A description of what this thread is doing, for the signal handler: address and length of the text.
    static LABEL: Cell<(*const u8, usize)> = const { Cell::new((ptr::null(), 0)) };
}

/// Runs `f`; if it touches a guard page, prints `label` before the process dies.
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
    // SAFETY: restores the default action, so that the same access faults again and ends the process.
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

    /// Reads past the end on purpose, in a process that `the_guard_catches_an_over_read` starts.
    #[test]
    #[ignore = "started by the_guard_catches_an_over_read"]
    fn child_reads_too_far() {
        let x = Guarded::new(&[1.0f64; 5], Edge::End);
        // SAFETY: none; element 5 lies in the guard page, and the test expects the fault.
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
