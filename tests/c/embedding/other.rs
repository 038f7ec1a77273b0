//! Another Rust static library, for together.c.

/// Panics with `number` on a new thread, catches the panic there, and returns the number from the panic's message.
#[unsafe(no_mangle)]
pub extern "C" fn other_rust_library(number: i32) -> i32 {
    std::panic::set_hook(Box::new(|_| {}));
    let thread = std::thread::spawn(move || match std::panic::catch_unwind(|| panic!("{number}")) {
        Ok(()) => 0,
        Err(text) => text.downcast_ref::<String>().map_or(-1, |text| text.parse().unwrap_or(-2)),
    });
    thread.join().unwrap_or(-3)
}
