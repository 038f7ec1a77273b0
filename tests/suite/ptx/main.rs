//! The committed PTX is that of these sources, and its entries are what the launchers think. Neither takes
//! the compiler that made it.

mod launches;

use diptych_device::launch::entry;
use std::fs;
use xtask::ptx::{Manifest, TARGETS, entries, file, hash, sources};

const AGAIN: &str = "run `cargo xtask ptx`";

fn committed(target: &str) -> String {
    fs::read_to_string(file(target)).unwrap_or_else(|e| panic!("{target}: {e}; {AGAIN}"))
}

#[test]
fn the_manifest_is_of_these_sources() {
    let manifest = Manifest::read().expect("a manifest");
    assert_eq!(manifest.sources, sources().expect("sources"), "{AGAIN}");
    for target in TARGETS {
        let made = hash(committed(target).as_bytes());
        assert_eq!(manifest.ptx[target], made, "{target}: {AGAIN}");
    }
    let first = entries(&committed(TARGETS[0])).expect("entries");
    assert_eq!(manifest.entries, first, "{AGAIN}");
}

/// What the launchers hand over is what each entry declares.
#[test]
fn entries_and_launchers_agree() {
    for target in TARGETS {
        let mut found = entries(&committed(target)).expect("entries");
        for kernel in entry::ALL {
            for dtype in kernel.types() {
                let name = kernel.name(dtype).expect("a kernel of the type");
                let parameters = kernel.parameters(dtype);
                let entry = found
                    .remove(name)
                    .unwrap_or_else(|| panic!("{target} has no {name}; {AGAIN}"));
                assert_eq!(entry.parameters, parameters, "{target} {name}: {AGAIN}");
                assert_eq!(entry.threads, kernel.threads, "{target} {name}: {AGAIN}");
                assert_eq!(entry.blocks, kernel.blocks, "{target} {name}: {AGAIN}");
            }
        }
        assert!(found.is_empty(), "{target}: no launcher for {found:?}");
    }
}
