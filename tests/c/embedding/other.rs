//! Another Rust static library, for together.c.

/// `number`, after a panic that was caught on a thread of its own.
#[unsafe(no_mangle)]
pub extern "C" fn other_rust_library(number: i32) -> i32 {
    std::panic::set_hook(Box::new(|_| {}));
    let thread = std::thread::spawn(move || match std::panic::catch_unwind(|| panic!("{number}")) {
        Ok(()) => 0,
        Err(text) => text.downcast_ref::<String>().map_or(-1, |text| text.parse().unwrap_or(-2)),
    });
    thread.join().unwrap_or(-3)
}
