// A launch, its blocks and threads, and the detection of data races: for each word of memory the last write and the
// last reads are recorded; for each byte if accesses are smaller. Within a block only bar.sync orders accesses, and in
// shared memory bar.warp.sync those of a warp; between blocks only atom.acq_rel on the same counter does, together with
// barriers.
#pragma once
#include "parser.hpp"
enum State : u8 { READY, AT_BAR, AT_SHFL, DONE };
struct Thread {
    u64 *r;
    u32 pc, number;
    State state;
};
// What a block has acquired by an atomic: the first `length` releases of the log of the counter at `address`.
struct Seen {
    u64 address;
    u32 length, epoch;
    u16 thread;
};
// The accesses of a 4-byte word of shared memory, as in Shadow. ww, rw: the epoch of the warp (its barriers so far) of
// the last write and read; `many`: several threads of the warp have read it in that epoch; `far`: several warps have
// read it in epoch `re`.
struct SharedShadow {
    u32 we, re, ww, rw;
    u16 wt, rt;
    u8 written, read, many, far;
};
struct Block {
    u32 x, y, z, number, epoch;
    std::vector<Thread> threads;
    std::vector<u64> regs;
    std::vector<u8> shared;
    std::vector<SharedShadow> shadow;
    std::vector<u32> shuffling; // for each warp, its threads that wait at a shuffle or a barrier of the warp
    std::vector<u32> warp_epochs; // for each warp, its barriers so far
    std::vector<u32> ready;
    u32 at_bar, done;
    bool dead;
};
struct Release {
    u32 block, epoch;
    u16 thread;
};
struct Reader {
    u32 block, epoch;
    u16 thread;
};
struct Launch {
    Kernel &k;
    u32 grid[3], threads, shared, number;
    std::unordered_map<u64, std::vector<Release>> logs;   // for each counter, its atomics in order
    std::unordered_map<u32, std::vector<Seen>> seen;      // for each block
    std::unordered_map<u64, std::vector<Reader>> readers; // for each word that several blocks have read
    u64 steps = 0;
    u32 reported = 0;
    bool dead = false;
};
static u32 launch_number = 0;
static u64 total_steps = 0, total_launches = 0, total_threads = 0, total_barriers = 0, total_shuffles = 0,
           total_accesses = 0;

static std::string describe(const Launch &l, const Block &b, const Thread &t, const Inst &i) {
    char s[256];
    snprintf(s, sizeof s, "%s grid %u,%u,%u block %u,%u,%u thread %u: line %u \"%s\"", l.k.name.c_str(), l.grid[0],
             l.grid[1], l.grid[2], b.x, b.y, b.z, t.number, i.line, l.k.text[&i - l.k.code.data()].c_str());
    return s;
}
static void kill(Launch &l, Block &b, const Thread &t, const Inst &i, const std::string &why) {
    fault(describe(l, b, t, i) + ": " + why);
    l.dead = true;
}
static void race(Launch &l, Block &b, const Thread &t, const Inst &i, const std::string &why) {
    if (l.reported++ < 3) fault("RACE " + describe(l, b, t, i) + ": " + why);
}

// Whether what thread `writer` of `block` did in `epoch` happens before what `thread` of block `reader` does in epoch
// `now`, because of barriers and a chain of atomics on counters. `visited` has for each block the latest epoch that the
// search has gone through.
static bool before(const Launch &l, u32 reader, u32 thread, u32 now, u32 block, u32 epoch, u32 writer,
                   std::map<u32, u32> &visited) {
    auto it = l.seen.find(reader);
    if (it == l.seen.end()) return false;
    for (auto &s : it->second) {
        if (!(s.epoch < now || (s.epoch == now && s.thread == thread))) continue;
        auto &log = l.logs.at(s.address);
        for (u32 n = 0; n < s.length; n++)
            if (log[n].block == block && (epoch < log[n].epoch || (epoch == log[n].epoch && writer == log[n].thread)))
                return true;
        for (u32 n = 0; n < s.length; n++) {
            u32 &latest = visited[log[n].block];
            if (log[n].block == reader || latest >= log[n].epoch) continue;
            latest = log[n].epoch;
            if (before(l, log[n].block, log[n].thread, log[n].epoch, block, epoch, writer, visited)) return true;
        }
    }
    return false;
}
static bool acquired(const Launch &l, const Block &b, u32 thread, u32 block, u32 epoch, u32 writer) {
    std::map<u32, u32> visited;
    return before(l, b.number, thread, b.epoch, block, epoch, writer, visited);
}

static inline void check_race_global(Launch &l, Block &b, const Thread &t, const Inst &i, Alloc *a, u64 at, u32 bytes,
                                     bool write) {
    const u32 unit = bytes < 4 ? 1 : 4;
    if (unit == 1 && !a->bytes) a->bytes = (Shadow *)map_zeroed(a->size * sizeof(Shadow));
    for (u32 n = 0; n < bytes / unit; n++) {
        const u64 place = at / unit + n;
        Shadow &s = (unit == 1 ? a->bytes : a->words)[place];
        u32 me = t.number;
        if (s.wl == l.number && !(s.wb == b.number && (s.wt == me || s.we < b.epoch))) {
            if (s.wb == b.number)
                race(l, b, t, i,
                     "thread " + std::to_string(s.wt) + " of the block wrote it and no barrier lies between; " +
                         where(a->addr + at));
            else if (!acquired(l, b, me, s.wb, s.we, s.wt))
                race(l, b, t, i,
                     "block number " + std::to_string(s.wb) + " wrote it in this launch; " + where(a->addr + at));
            else if (!write && !i.strong)
                race(l, b, t, i,
                     "(ordered) block number " + std::to_string(s.wb) + " wrote it, and the load is weak; " +
                         where(a->addr + at));
        }
        if (write) {
            if (s.rl == l.number) {
                if (s.rblocks) {
                    for (auto &reader : l.readers[a->addr + place * unit])
                        if (reader.block != b.number && !acquired(l, b, me, reader.block, reader.epoch, reader.thread))
                            race(l, b, t, i,
                                 "block number " + std::to_string(reader.block) +
                                     " and others read it in this launch; " + where(a->addr + at));
                }
                if (s.rb != b.number) {
                    if (!acquired(l, b, me, s.rb, s.re, s.rt))
                        race(l, b, t, i,
                             "block number " + std::to_string(s.rb) + " read it in this launch; " +
                                 where(a->addr + at));
                } else if (s.re == b.epoch && (s.rmany || s.rt != me))
                    race(l, b, t, i,
                         "thread " + std::to_string(s.rt) + " of the block read it and no barrier lies between; " +
                             where(a->addr + at));
            }
            s.wl = l.number, s.wb = b.number, s.we = b.epoch, s.wt = (u16)me;
        } else {
            if (s.rl != l.number) s.rmany = s.rblocks = 0;
            else if (s.rb != b.number) {
                // The last read of the previous block is kept: one thread for all that read in that epoch.
                auto &readers = l.readers[a->addr + place * unit];
                readers.push_back(Reader{s.rb, s.re, s.rt});
                if (readers.size() > 200) readers.erase(readers.begin());
                s.rblocks = 1, s.rmany = 0;
            } else if (s.re == b.epoch) s.rmany |= s.rt != me;
            else s.rmany = 0;
            s.rl = l.number, s.rb = b.number, s.re = b.epoch, s.rt = (u16)me;
        }
    }
}

static inline u8 *global(Launch &l, Block &b, Thread &t, Inst &i, u64 address, bool write) {
    u32 bytes = i.size * i.count;
    if (address & (bytes - 1)) {
        kill(l, b, t, i, "misaligned address " + where(address));
        return nullptr;
    }
    Alloc *a = i.cache;
    if (!(a && a->live && address - a->addr < a->size && a->size - (address - a->addr) >= bytes)) {
        a = find_alloc(address);
        if (!a || !a->live || address - a->addr >= a->size || a->size - (address - a->addr) < bytes) {
            kill(l, b, t, i, "address out of bounds: " + where(address));
            return nullptr;
        }
        i.cache = a;
    }
    if (write && a->readonly) {
        kill(l, b, t, i, "store into an input: " + where(address));
        return nullptr;
    }
    total_accesses++;
    u64 at = address - a->addr;
    if (settings.races && i.op != ATOM_INC) check_race_global(l, b, t, i, a, at, bytes, write);
    return a->mem + at;
}

static inline u8 *shared_at(Launch &l, Block &b, Thread &t, Inst &i, u32 address, bool write) {
    u32 bytes = i.size * i.count, at = address - SHARED_BASE;
    if (address & (bytes - 1)) {
        kill(l, b, t, i, "misaligned shared address " + std::to_string(address));
        return nullptr;
    }
    if (at >= l.shared || l.shared - at < bytes) {
        kill(l, b, t, i,
             "shared memory out of bounds: byte " + std::to_string((i32)at) + " of " + std::to_string(l.shared));
        return nullptr;
    }
    total_accesses++;
    if (settings.races) {
        for (u32 n = at / 4; n < (at + bytes) / 4; n++) {
            SharedShadow &s = b.shadow[n];
            u32 me = t.number, now = b.warp_epochs[me / 32];
            bool own_write = s.wt / 32 == me / 32 && s.ww < now; // a barrier of the warp lies between
            bool own_read = s.rt / 32 == me / 32 && s.rw < now;
            if (s.written && s.wt != me && s.we == b.epoch && !own_write)
                race(l, b, t, i,
                     "shared: thread " + std::to_string(s.wt) + " wrote it and no barrier lies between; byte " +
                         std::to_string(n * 4));
            if (write) {
                if (s.read && s.re == b.epoch && (s.far || (!own_read && (s.many || s.rt != me))))
                    race(l, b, t, i,
                         "shared: thread " + std::to_string(s.rt) + " read it and no barrier lies between; byte " +
                             std::to_string(n * 4));
                s.written = 1, s.we = b.epoch, s.ww = now, s.wt = (u16)me;
            } else {
                if (!s.written) race(l, b, t, i, "shared: read and never written; byte " + std::to_string(n * 4));
                bool again = s.read && s.re == b.epoch;
                s.far = again && (s.far || s.rt / 32 != me / 32);
                s.many = again && !own_read && (s.many || s.rt != me);
                s.read = 1, s.re = b.epoch, s.rw = now, s.rt = (u16)me;
            }
        }
    }
    return b.shared.data() + at;
}
