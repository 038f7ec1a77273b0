// Device memory. Its addresses are not mapped on the host, so that a host access to them is a SIGSEGV.
#pragma once
#include "settings.hpp"
static const u64 DEVICE_BASE = 0x100000000000ull, DEVICE_END = 0x200000000000ull;
// The last write (w) and the last read (r) of a 4-byte word, or of a byte: launch (l), block (b), epoch (e: the block's
// barriers so far) and thread (t). rmany: other threads of the block have read it in the epoch; rblocks: other blocks
// have read it.
struct Shadow {
    u32 wl, wb, we, rl, rb, re;
    u16 wt, rt;
    u8 rmany, rblocks;
};
struct Alloc {
    u64 addr, size;
    u8 *mem;
    Shadow *words;
    Shadow *bytes; // of accesses to fewer than 4 bytes, which are not compared with larger ones; NULL before the first
    bool live, readonly;
};
static std::map<u64, Alloc *> allocs; // by address; freed ones stay, to detect uses after free
static u64 next_addr = DEVICE_BASE + (1 << 20);

static void *map_zeroed(u64 bytes) {
    void *p = mmap(nullptr, std::max<u64>(bytes, 1), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}
static Alloc *allocate(u64 bytes, u64 shift) {
    if (bytes > (1ull << 33)) return nullptr;
    Alloc *a = new Alloc();
    a->addr = next_addr + shift;
    a->size = bytes;
    a->mem = (u8 *)map_zeroed(bytes);
    a->words = (Shadow *)map_zeroed((bytes / 4 + 2) * sizeof(Shadow));
    a->live = true;
    for (u64 i = 0; i < std::min<u64>(bytes, 1 << 22); i++) a->mem[i] = (u8)(0xA5 ^ (i * 29)); // not zeros
    next_addr += (bytes + shift + (1 << 17)) & ~0xFFFFull; // a gap of at least 64 KiB
    allocs[a->addr] = a;
    return a;
}
// The allocation with the highest address that is not above `addr`.
static Alloc *find_alloc(u64 addr) {
    auto it = allocs.upper_bound(addr);
    if (it == allocs.begin()) return nullptr;
    --it;
    return it->second;
}
static std::string where(u64 addr) {
    Alloc *a = find_alloc(addr);
    char t[160];
    if (!a) snprintf(t, sizeof t, "0x%llx, below all allocations", (unsigned long long)addr);
    else
        snprintf(t, sizeof t, "0x%llx, byte %lld of an allocation of %llu bytes%s%s", (unsigned long long)addr,
                 (long long)(addr - a->addr), (unsigned long long)a->size, a->live ? "" : " (FREED)",
                 a->readonly ? " (read-only)" : "");
    return t;
}
static bool is_device(u64 p) { return p >= DEVICE_BASE && p < DEVICE_END; }
// The host address of a range of host or device memory, for copies; NULL if it is not within a live allocation.
static u8 *host_view(u64 p, u64 bytes) {
    if (!is_device(p)) return (u8 *)p;
    Alloc *a = find_alloc(p);
    if (!a || !a->live || p - a->addr > a->size || bytes > a->size - (p - a->addr)) return nullptr;
    return a->mem + (p - a->addr);
}
