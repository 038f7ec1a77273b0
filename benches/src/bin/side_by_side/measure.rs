//! Measuring a row: the library, the peer and the ceiling in turn.

use crate::Options;
use crate::report::Line;
use crate::rows::{Row, rows};
use diptych::Exec;
use diptych_benches::ceiling::{self, Stream};
use diptych_benches::data::{Operands, Real};
use diptych_benches::peer::Peer;
use diptych_benches::timing::{Clock, Subject, medians};
use std::cell::RefCell;

/// Measures and prints all rows for one element type.
pub fn all<T: Real>(
    options: &Options,
    exec: &Exec<'_>,
    peer: Option<&Peer<T>>,
    lines: &mut Vec<Line>,
) {
    for row in rows::<T>() {
        let wanted = options.only.is_empty()
            || options
                .only
                .iter()
                .any(|only| row.bench.name().contains(only));
        if wanted {
            let line = measure(options, exec, peer, &row);
            line.print();
            lines.push(line);
        }
    }
}

fn measure<T: Real>(
    options: &Options,
    exec: &Exec<'_>,
    peer: Option<&Peer<T>>,
    row: &Row<T>,
) -> Line {
    let bench = row.bench;
    let clock = if options.threads == 1 {
        Clock::Thread
    } else {
        Clock::Wall
    };
    // One set of operands: neither side gets the better memory.
    let operands = &RefCell::new(bench.operands(row.shape));
    let stream = &RefCell::new(Stream::new(bench.pattern, bench.footprint(row.shape)));
    let call = || {
        (bench.run)(exec, &mut operands.borrow_mut()).expect("the operands of a bench are right")
    };
    let mut subjects = vec![Subject::new(clock, call)];
    let has_peer = peer
        .zip(bench.peer)
        .filter(|(peer, run)| run(peer, &mut operands.borrow_mut()).is_some());
    if let Some((peer, run)) = has_peer {
        subjects.push(Subject::new(clock, move || {
            _ = run(peer, &mut operands.borrow_mut())
        }));
    }
    let before_ceilings = subjects.len();
    let stream_bytes = stream.borrow().as_ref().map_or(0, Stream::bytes);
    let fma = ceiling::fma_turn(T::NAME == "f64");
    let flops = bench.flops(row.shape);
    let units_of_ceiling = if flops > 0 {
        fma.map_or(0.0, |(flops, _)| flops)
    } else {
        stream_bytes as f64
    };
    if let Some((_, turn)) = fma.filter(|_| flops > 0) {
        subjects.push(Subject::new(clock, turn));
    } else if stream_bytes > 0 {
        let ways = stream.borrow().as_ref().map_or(&[][..], Stream::ways);
        for &way in ways {
            let turn = move || {
                stream
                    .borrow_mut()
                    .iter_mut()
                    .for_each(|stream| stream.turn(way))
            };
            subjects.push(Subject::new(clock, turn));
        }
    }
    let seconds = medians(&mut subjects, options.rounds);
    let fastest = seconds[before_ceilings..].iter().copied().reduce(f64::min);
    Line {
        op: bench.name(),
        dtype: T::NAME,
        shape: shape(&operands.borrow()),
        place: row.place,
        computes: flops > 0,
        work: if flops > 0 {
            flops
        } else {
            bench.bytes(row.shape)
        } as f64,
        seconds: seconds[0],
        peer_seconds: has_peer.map(|_| seconds[1]),
        ceiling: fastest
            .map(|seconds| units_of_ceiling / seconds / 1e9)
            .filter(|&rate| rate > 0.0),
    }
}

fn shape<T>(operands: &Operands<T>) -> String {
    let s = operands.shape;
    match (s.m, s.k, s.batch) {
        (1, 1, 1) => format!("{}", s.n),
        (_, 1, 1) => format!("{}x{}", s.m, s.n),
        (_, _, 1) => format!("{}x{}x{}", s.m, s.n, s.k),
        _ => format!("{} of {}x{}x{}", s.batch, s.m, s.n, s.k),
    }
}
