#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    diptych_tests::hostile::family("row_map").run(data, false);
});
