// Execution: runs one thread at a time up to a barrier, a shuffle or its end, in the order of the schedule.
#pragma once
#include "races.hpp"

// The host address of an access to memory; NULL after an error.
static inline u8 *memory_at(Launch &l, Block &b, Thread &t, Inst &i, u64 address, bool write) {
    return i.shared ? shared_at(l, b, t, i, (u32)address, write) : global(l, b, t, i, address, write);
}
// Loads and stores return false after an error.
static inline bool load(Launch &l, Block &b, Thread &t, Inst &i, u64 address) {
    const u8 *m = memory_at(l, b, t, i, address, false);
    if (!m) return false;
    for (int n = 0; n < i.count; n++) {
        u64 value = 0;
        memcpy(&value, m + i.size * n, i.size);
        t.r[i.v[n]] = value;
    }
    return true;
}
static inline bool store(Launch &l, Block &b, Thread &t, Inst &i, u64 address) {
    u8 *m = memory_at(l, b, t, i, address, true);
    if (!m) return false;
    for (int n = 0; n < i.count; n++) memcpy(m + i.size * n, &t.r[i.v[n]], i.size);
    return true;
}
// atom.inc: increments a counter, which wraps from `last` to 0. It acquires what the earlier atomics on the counter
// have released, and releases what the thread has done. Returns false after an error.
static bool increment(Launch &l, Block &b, Thread &t, Inst &i, u64 address, u32 last) {
    u8 *m = global(l, b, t, i, address, true);
    if (!m) return false;
    u32 old;
    memcpy(&old, m, 4);
    const u32 next = old >= last ? 0 : old + 1;
    memcpy(m, &next, 4);
    t.r[i.d] = old;
    auto &log = l.logs[address];
    l.seen[b.number].push_back(Seen{address, (u32)log.size(), b.epoch, (u16)t.number});
    log.push_back(Release{b.number, b.epoch, (u16)t.number});
    return true;
}

// Runs a thread until it waits, ends, or has executed `quantum` instructions.
static void run(Launch &l, Block &b, Thread &t, u64 quantum) {
    Inst *code = l.k.code.data();
    u8 *coverage = l.k.coverage.data();
    u64 *r = t.r;
    u32 pc = t.pc;
    u64 left = quantum;
    enum { BASE = __COUNTER__ + 1 };
    while (left-- > 0) {
        Inst &i = code[pc];
        coverage[pc] |= 1;
        const u64 a = r[i.a], bb = r[i.b], c = r[i.c];
        switch (i.op) {
        case BRA: {
            bool go = !i.guarded || (r[i.guard] & 1) != (u64)i.negated;
            coverage[pc] |= go ? 2 : 4;
            pc = go ? i.target : pc + 1;
            continue;
        }
        case RET: t.state = DONE; goto out;
        case BAR: t.state = AT_BAR; goto out;
        case WARP_BAR:
        case SHFL: t.state = AT_SHFL; goto out;
        case ATOM_INC:
            if (!increment(l, b, t, i, a + (u64)i.offset, (u32)bb)) goto out;
            break;
        case LD:
            if (!load(l, b, t, i, a + (u64)i.offset)) goto out;
            break;
        case ST:
            if (!store(l, b, t, i, a + (u64)i.offset)) goto out;
            break;
        case UNPACK: {
            u64 v = a;
            r[i.v[0]] = (u32)v;
            r[i.v[1]] = v >> 32;
            break;
        }
        case UNPACK_16: {
            u64 v = a;
            r[i.v[0]] = H(v);
            r[i.v[1]] = H(v >> 16);
            break;
        }
        case PACK: r[i.d] = a | bb << 32; break;
        case DIVU32:
        case DIVU64:
        case REMU32:
        case REMU64:
            if (bb == 0) {
                kill(l, b, t, i, "division by zero");
                goto out;
            }
            r[i.d] = i.op == DIVU32 || i.op == DIVU64 ? a / bb : a % bb;
            break;
            // In the order of `known`.
#define b bb
#define X(text, widths, value)                                                                                         \
    case FIRST_VALUE + __COUNTER__ - BASE: r[i.d] = (u64)(value); break;
            VALUES(X)
#undef X
#undef b
        }
        pc++;
    }
out:
    t.pc = pc;
    l.steps += quantum - left - (left == ~0ull ? 1 : 0);
}

// Makes `b` the block of this number, with all threads at the start of the kernel.
static void start(Launch &l, Block &b, u32 number) {
    Kernel &k = l.k;
    b.number = number;
    b.x = number % l.grid[0], b.y = number / l.grid[0] % l.grid[1], b.z = number / l.grid[0] / l.grid[1];
    b.epoch = 1, b.at_bar = b.done = 0, b.dead = false;
    b.shared.assign(l.shared, 0xCD);
    b.shadow.assign(l.shared / 4 + 4, SharedShadow{});
    b.threads.resize(l.threads);
    b.shuffling.assign((l.threads + 31) / 32, 0);
    b.warp_epochs.assign((l.threads + 31) / 32, 1);
    b.ready.clear();
    bool fresh = b.regs.size() != (u64)k.total * l.threads;
    if (fresh) b.regs.resize((u64)k.total * l.threads);
    for (u32 n = 0; n < l.threads; n++) {
        Thread &t = b.threads[n];
        t.r = b.regs.data() + (u64)n * k.total;
        t.pc = 0, t.number = n, t.state = READY;
        // Registers start with random values.
        u64 poison = rnd() | 0x7FF0000000000001ull;
        for (u32 m = 0; m < k.regs; m++) t.r[m] = (u32)poison;
        if (fresh) std::copy(k.constants.begin(), k.constants.end(), t.r + k.regs);
        const u32 values[] = {n, 0, 0, l.threads, 1, 1, b.x, b.y, b.z, l.grid[0], l.grid[1], l.grid[2], n % 32};
        for (int m = 0; m < SPECIAL_COUNT; m++) t.r[k.special[m]] = values[m];
        b.ready.push_back(n);
    }
    if (settings.schedule == REVERSE) std::reverse(b.ready.begin(), b.ready.end());
}

// Executes a shuffle or a barrier of a warp, when all its threads wait at one.
static void shuffle(Launch &l, Block &b, u32 warp) {
    Thread *w = &b.threads[warp * 32];
    u32 pc = w[0].pc;
    for (int n = 1; n < 32; n++)
        if (w[n].pc != pc)
            return kill(l, b, w[n], l.k.code[w[n].pc],
                        "the warp's threads are at different shuffles or barriers: thread 0 of it at line " +
                            std::to_string(l.k.code[pc].line));
    Inst &i = l.k.code[pc];
    u64 values[32];
    for (int n = 0; n < 32; n++) values[n] = w[n].r[i.a];
    for (u32 n = 0; n < 32; n++) {
        u32 from = n ^ (u32)w[n].r[i.b];
        if (i.op == SHFL) w[n].r[i.d] = values[from <= 31 ? from : n];
        w[n].pc++, w[n].state = READY;
        b.ready.push_back(warp * 32 + n);
    }
    if (settings.schedule == REVERSE) std::reverse(b.ready.end() - 32, b.ready.end());
    b.shuffling[warp] = 0;
    if (i.op == SHFL) total_shuffles++;
    else b.warp_epochs[warp]++, total_barriers++;
}

// Executes a barrier of a block, when all its threads wait at one.
static void barrier(Launch &l, Block &b) {
    for (u32 n = 0; n < l.threads; n++) {
        Thread &t = b.threads[n];
        if (t.pc != b.threads[n & ~31u].pc)
            return kill(l, b, t, l.k.code[t.pc], "the warp's threads are at different barriers");
    }
    for (Thread &t : b.threads) {
        t.pc++, t.state = READY;
        b.ready.push_back(t.number);
    }
    if (settings.schedule == REVERSE) std::reverse(b.ready.begin(), b.ready.end());
    b.at_bar = 0, b.epoch++;
    total_barriers++;
}

// Runs one thread of a block for a while. Returns false when the block is done or has a fault.
static bool step(Launch &l, Block &b) {
    if (b.done == l.threads) return false;
    if (b.ready.empty()) {
        // No thread can run.
        std::string text = "deadlock:";
        u32 count[4] = {0, 0, 0, 0};
        for (Thread &t : b.threads) count[t.state]++;
        text += " " + std::to_string(count[AT_BAR]) + " threads at a barrier, " + std::to_string(count[AT_SHFL]) +
                " at a shuffle or a warp's barrier, " + std::to_string(count[DONE]) + " done";
        for (Thread &t : b.threads)
            if (t.state != DONE) {
                kill(l, b, t, l.k.code[t.pc], text);
                break;
            }
        return false;
    }
    size_t pick = 0;
    u64 quantum = ~0ull - 1;
    if (settings.schedule == RANDOM) {
        pick = rnd() % b.ready.size();
        std::swap(b.ready[pick], b.ready.back());
        pick = b.ready.size() - 1;
        u64 q = rnd();
        if (q % 4 == 0) quantum = 1 + (q >> 8) % 400;
    }
    if (quantum > settings.limit) quantum = settings.limit;
    u32 n = b.ready[pick];
    if (pick == b.ready.size() - 1) b.ready.pop_back();
    else b.ready.erase(b.ready.begin() + pick);
    Thread &t = b.threads[n];
    run(l, b, t, quantum);
    if (l.dead) return false;
    if (l.steps > settings.limit) {
        kill(l, b, t, l.k.code[t.pc], "too many instructions: an endless loop?");
        return false;
    }
    switch (t.state) {
    case READY: b.ready.push_back(n); break;
    case DONE: b.done++; break;
    case AT_BAR: b.at_bar++; break;
    case AT_SHFL:
        if (++b.shuffling[n / 32] == 32) shuffle(l, b, n / 32);
        break;
    }
    if (b.at_bar == l.threads) barrier(l, b);
    return !l.dead;
}

// Runs the threads of each warp in lockstep, as GPUs before independent thread scheduling did: one instruction at a
// time, in all threads at the lowest pc. Returns false when the block is done or has a fault.
static bool step_lockstep(Launch &l, Block &b) {
    if (b.done == l.threads) return false;
    bool any = false;
    for (u32 warp = 0; warp < (l.threads + 31) / 32; warp++) {
        for (int burst = 0; burst < 64; burst++) {
            u32 low = ~0u;
            for (u32 n = warp * 32; n < warp * 32 + 32; n++)
                if (b.threads[n].state == READY) low = std::min(low, b.threads[n].pc);
            if (low == ~0u) break;
            any = true;
            for (u32 n = warp * 32; n < warp * 32 + 32; n++) {
                Thread &t = b.threads[n];
                if (t.state != READY || t.pc != low) continue;
                run(l, b, t, 1);
                if (l.dead) return false;
                if (t.state == DONE) b.done++;
                if (t.state == AT_BAR) b.at_bar++;
                if (t.state == AT_SHFL && ++b.shuffling[warp] == 32) shuffle(l, b, warp);
                if (l.dead) return false;
            }
        }
        if (b.at_bar == l.threads) {
            barrier(l, b);
            any = true;
        }
    }
    b.ready.clear();
    if (l.steps > settings.limit) l.dead = true, fault("too many instructions");
    if (!any && b.done < l.threads) {
        b.ready.clear();
        return step(l, b);
    }
    return !l.dead;
}

// Runs a launch to its end or to a fault.
static void simulate(Launch &l, void **arguments) {
    Kernel &k = l.k;
    for (auto &w : k.param_words) {
        u64 value = 0;
        memcpy(&value, (const char *)arguments[w.index] + w.offset, w.size);
        k.constants[w.place - k.regs] = value;
    }
    for (auto &i : k.code) i.cache = nullptr;
    u64 blocks = (u64)l.grid[0] * l.grid[1] * l.grid[2];
    static std::vector<Block> pool;
    size_t resident = (size_t)std::min<u64>(
        blocks, settings.schedule == RANDOM || settings.schedule == LOCKSTEP ? settings.resident : 1);
    if (pool.size() < resident) pool.resize(resident);
    for (auto &b : pool) b.regs.clear();
    std::vector<u32> order;
    for (u64 n = 0; n < blocks; n++) order.push_back((u32)n);
    if (settings.schedule == REVERSE) std::reverse(order.begin(), order.end());
    if (settings.schedule == RANDOM)
        for (size_t n = order.size(); n > 1; n--) std::swap(order[n - 1], order[rnd() % n]);
    size_t next = 0;
    std::vector<size_t> active;
    for (size_t n = 0; n < resident; n++) {
        start(l, pool[n], order[next++]);
        active.push_back(n);
    }
    while (!active.empty() && !l.dead) {
        size_t pick = active.size() > 1 ? rnd() % active.size() : 0;
        Block &b = pool[active[pick]];
        bool more = true;
        for (int n = 0; n < 40 && more; n++) more = settings.schedule == LOCKSTEP ? step_lockstep(l, b) : step(l, b);
        if (!more && !l.dead) {
            if (next < order.size()) start(l, b, order[next++]);
            else active.erase(active.begin() + pick);
        }
    }
    k.launches++;
    k.executed += l.steps;
    total_steps += l.steps, total_launches++, total_threads += blocks * l.threads;
}
