// Settings of a run, random numbers, and the faults that were found.
#pragma once
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

static u64 env(const char *name, u64 fallback) {
    const char *v = getenv(name);
    return v && *v ? strtoull(v, nullptr, 0) : fallback;
}
static u64 rng_state = 88172645463325252ull;
static inline u64 rnd() {
    rng_state += 0x9E3779B97F4A7C15ull;
    u64 z = rng_state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

enum { IN_ORDER, REVERSE, RANDOM, LOCKSTEP };
static struct Settings {
    int schedule = RANDOM;
    bool random_nan = false;    // random bits in NaNs whose bits PTX does not specify
    bool races = true;          // look for data races
    int resident = 3;           // blocks that run interleaved
    u64 limit = 40000000000ull; // the most instructions of a launch
} settings;

static std::vector<std::string> faults;
static u64 fault_count = 0;
static void fault(const std::string &text) {
    fault_count++;
    if (faults.size() < 64) faults.push_back(text);
    if (env("PTXSIM_VERBOSE", 1)) fprintf(stderr, "ptxsim: FAULT: %s\n", text.c_str());
}
