#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    diptych_tests::hostile::family("tensors").run(data, false);
});
