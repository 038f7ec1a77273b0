//! The fake driver, and test processes that run with it.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use libloading::Library;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The driver that a process finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// No fake driver.
    None,
    /// A new driver.
    New,
    /// A driver without the newest functions, `cuCtxGetId` and `cuFuncLoad`.
    Old,
    /// A driver that lacks a required function, `cuStreamIsCapturing`.
    TooOld,
}

/// The environment variable that marks a child process; it holds the folder of the child's fake driver.
const VARIABLE: &str = "DIPTYCH_TEST_CUDA";

/// Runs `body` in a process of its own with that driver. `name` is the test's name, with its module.
pub fn with(driver: Driver, name: &str, body: impl FnOnce()) {
    if std::env::var_os(VARIABLE).is_some() {
        if driver != Driver::None {
            fake();
        }
        return body();
    }
    let this = std::env::current_exe().expect("this program");
    let mut child = Command::new(this);
    child.args(["--exact", name, "--nocapture", "--test-threads", "1"]);
    child
        .env(VARIABLE, folder(driver))
        .env("LD_LIBRARY_PATH", folder(driver));
    let output = child.output().expect("this program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Returns a folder that contains that driver; all drivers are built once.
fn folder(driver: Driver) -> PathBuf {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    let root = ROOT.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fake-cuda");
        let flags = [
            ("new", None),
            ("old", Some("-DFAKE_OLD")),
            ("too-old", Some("-DFAKE_TOO_OLD")),
        ];
        for (name, flag) in flags {
            build(&root.join(name), flag);
        }
        root
    });
    match driver {
        Driver::None => root.join("none"),
        Driver::New => root.join("new"),
        Driver::Old => root.join("old"),
        Driver::TooOld => root.join("too-old"),
    }
}

fn build(folder: &Path, flag: Option<&str>) {
    std::fs::create_dir_all(folder).expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/fake_cuda.c");
    // Replaces the file by a rename, because another process may be loading the previous one.
    let work = tempfile::tempdir_in(folder).expect("a folder");
    let built = work.path().join("libcuda.so.1");
    let mut cc = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
    cc.args("-std=c11 -D_DEFAULT_SOURCE -O1 -Wall -Wextra -Werror -shared -fPIC".split(' '));
    let done = cc
        .args(flag)
        .arg(source)
        .arg("-o")
        .arg(&built)
        .arg("-lpthread")
        .status();
    assert!(done.expect("a C compiler").success());
    std::fs::rename(&built, folder.join("libcuda.so.1")).expect("a rename");
}

/// The fake driver of this process.
pub struct Fake(Library);

/// Returns the fake driver of this process, loading it on the first call.
pub fn fake() -> &'static Fake {
    static FAKE: OnceLock<Fake> = OnceLock::new();
    FAKE.get_or_init(|| {
        // SAFETY: a library without constructors.
        let fake = Fake(unsafe { Library::new("libcuda.so.1") }.expect("the fake"));
        fake.on_launch(super::machine::run);
        fake
    })
}

type Launch = unsafe extern "C" fn(*const c_char, *const c_uint, *mut c_void, *mut *mut c_void);

impl Fake {
    fn call<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the callers below give each function of `fake_cuda.c` its type.
        *unsafe { self.0.get::<F>(name.as_bytes()) }.expect("a function of the fake")
    }
    /// Returns the driver calls since the last time it was called, with `kernel:NAME` for every function that the
    /// driver handed out.
    pub fn written(&self) -> Vec<String> {
        let text = self.call::<extern "C" fn() -> *const c_char>("fake_written")();
        // SAFETY: a C string of the fake driver.
        let text = unsafe { CStr::from_ptr(text) }.to_str().expect("names");
        let calls = text.split_whitespace().map(String::from).collect();
        self.call::<extern "C" fn()>("fake_forget")();
        calls
    }
    /// Makes a function of the driver fail with `code` from now on.
    pub fn fail(&self, name: &str, code: c_int) {
        let name = CString::new(name).expect("a name");
        self.call::<extern "C" fn(*const c_char, c_int)>("fake_fail")(name.as_ptr(), code);
    }
    /// Ends all failures that [`Fake::fail`] set.
    pub fn heal(&self) {
        self.call::<extern "C" fn()>("fake_heal")();
    }
    /// Sets the number of devices, their compute capability, and the version of the driver.
    pub fn machine(&self, devices: c_int, (major, minor): (c_int, c_int), version: c_int) {
        self.call::<extern "C" fn(c_int, c_int, c_int, c_int)>("fake_machine")(
            devices, major, minor, version,
        );
    }
    /// Makes the driver answer to every cubin with this error.
    pub fn refuse_cubins(&self, code: c_int) {
        self.call::<extern "C" fn(c_int)>("fake_refuse_cubins")(code);
    }
    /// Sets whether streams are being captured.
    pub fn capture(&self, on: bool) {
        self.call::<extern "C" fn(c_int)>("fake_capture")(c_int::from(on));
    }
    /// Pretends that another thread captures a stream of its own.
    pub fn capture_elsewhere(&self) {
        self.call::<extern "C" fn(c_int)>("fake_capture")(2);
    }
    /// Returns whether a capture has been invalidated.
    pub fn invalidated(&self) -> bool {
        self.call::<extern "C" fn() -> c_int>("fake_invalidated")() != 0
    }
    /// Makes the driver answer with this error of a kernel from now on.
    pub fn fault(&self, code: c_int) {
        self.call::<extern "C" fn(c_int)>("fake_fault")(code);
    }
    /// Sets the function that launches call.
    pub fn on_launch(&self, launch: Launch) {
        self.call::<extern "C" fn(Launch)>("fake_on_launch")(launch);
    }
    /// Makes `context` current on the calling thread.
    pub fn set_context(&self, context: usize) {
        self.call::<extern "C" fn(usize)>("fake_context")(context);
    }
    /// Retains the primary context of a device, as another library of the process does.
    pub fn retain(&self, device: c_int) {
        let mut context = core::ptr::null_mut();
        self.call::<extern "C" fn(*mut *mut c_void, c_int) -> c_int>("cuDevicePrimaryCtxRetain")(
            &mut context,
            device,
        );
    }
    /// Returns how often the primary context of a device is retained; it is active if that is not 0.
    pub fn retained(&self, device: c_int) -> c_int {
        self.call::<extern "C" fn(c_int) -> c_int>("fake_retained")(device)
    }
    /// Allocates memory that is not from the library: `kind` is 1 for host and 2 for device memory.
    pub fn memory(
        &self,
        bytes: usize,
        kind: c_int,
        managed: bool,
        context: usize,
        device: c_int,
    ) -> *mut c_void {
        self.call::<extern "C" fn(usize, c_int, c_int, usize, c_int) -> *mut c_void>("fake_memory")(
            bytes,
            kind,
            c_int::from(managed),
            context,
            device,
        )
    }
    /// Returns the number of allocations that have not been freed.
    pub fn live(&self) -> usize {
        self.call::<extern "C" fn() -> usize>("fake_live")()
    }
}

/// Makes tests that each run in a process of its own, with the driver that precedes the name.
#[macro_export]
macro_rules! scenarios {
    ($($(#[$doc:meta])* $driver:ident $name:ident() $body:block)*) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            let path = concat!(module_path!(), "::", stringify!($name));
            let name = path.split_once("::").map_or(path, |(_, name)| name);
            $crate::fake::with($crate::fake::Driver::$driver, name, || $body);
        }
    )*};
}
