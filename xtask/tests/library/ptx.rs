//! The committed PTX was built from these sources, and its entries are those that the launchers expect. These checks do
//! not need the compiler that made the PTX.

use diptych_device::launch::entry;
use diptych_device::ops::gemm::{
    tile_16x16, tile_32x32, tile_64x64, tile_128x16, tile_128x64, tile_128x128,
};
use diptych_device::real::Real;
use std::collections::BTreeSet;
use std::fs;
use xtask::ptx::{Manifest, TARGETS, cubins, entries, file, hash, shared_memory, sources, unpack};

const REBUILD: &str = "run `cargo xtask ptx`";

fn committed(target: &str) -> String {
    fs::read_to_string(file(target)).unwrap_or_else(|e| panic!("{target}: {e}; {REBUILD}"))
}

#[test]
fn the_manifest_is_of_these_sources() {
    let manifest = Manifest::read().expect("a manifest");
    assert_eq!(manifest.sources, sources().expect("sources"), "{REBUILD}");
    for target in TARGETS {
        let made = hash(committed(target).as_bytes());
        assert_eq!(manifest.ptx[target], made, "{target}: {REBUILD}");
    }
    let first = entries(&committed(TARGETS[0])).expect("entries");
    assert_eq!(manifest.entries, first, "{REBUILD}");
}

/// The cubins are of this PTX, by what their files say.
#[test]
fn the_cubins_are_of_this_ptx() {
    let ptx = committed(TARGETS[0]);
    let origin = format!(
        "assembler: {}\nPTX: {}\n",
        cubins::ASSEMBLER,
        hash(ptx.as_bytes())
    );
    let entries = entries(&ptx).expect("entries");
    for architecture in cubins::ARCHITECTURES {
        let path = cubins::archive(architecture);
        let file = fs::read(path).unwrap_or_else(|e| panic!("{architecture}: {e}; {REBUILD}"));
        assert!(
            file.starts_with(origin.as_bytes()),
            "{architecture}: {REBUILD}"
        );
        let cubins = unpack(&file).expect("a whole file");
        let names: BTreeSet<_> = cubins.iter().map(|(name, _)| *name).collect();
        assert!(
            names.into_iter().eq(entries.keys()),
            "{architecture}: {REBUILD}"
        );
    }
}

/// The launchers and each entry agree on parameters, threads and blocks.
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
                    .unwrap_or_else(|| panic!("{target} has no {name}; {REBUILD}"));
                assert_eq!(entry.parameters, parameters, "{target} {name}: {REBUILD}");
                assert_eq!(entry.threads, kernel.threads, "{target} {name}: {REBUILD}");
                assert_eq!(entry.blocks, kernel.blocks, "{target} {name}: {REBUILD}");
            }
        }
        assert!(found.is_empty(), "{target}: no launcher for {found:?}");
    }
}

/// The simulator gives thread blocks of matrix products the shared memory that the launchers request.
#[test]
fn the_simulator_knows_the_shared_memory_of_products() {
    fn check<T: Real>() {
        let products = [
            (tile_128x128::TILE, tile_128x128::shared::<T>()),
            (tile_128x64::TILE, tile_128x64::shared::<T>()),
            (tile_64x64::TILE, tile_64x64::shared::<T>()),
            (tile_128x16::TILE, tile_128x16::shared::<T>()),
            (tile_32x32::TILE, tile_32x32::shared::<T>()),
            (tile_16x16::TILE, tile_16x16::shared::<T>()),
        ];
        for (tile, shared) in products {
            assert_eq!(
                shared_memory(tile, size_of::<T>() as u32),
                shared,
                "{tile:?}"
            );
        }
    }
    check::<f32>();
    check::<f64>();
}
