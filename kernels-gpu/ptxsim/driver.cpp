// A functional PTX interpreter that stands in for libcuda.so.1. It knows only the instructions that the kernels' PTX
// uses, and refuses a module with any other. It shares no code with the emulator or the kernels: see CONTRIBUTING.md.
//
//   c++ -std=c++17 -O2 -mfma -ffp-contract=off -fno-strict-aliasing -fPIC -shared -o libcuda.so.1 driver.cpp
#include "run.hpp"
#include <mutex>
#include <sstream>

static std::recursive_mutex lock;
#define API extern "C" __attribute__((visibility("default")))
#define HOLD std::lock_guard<std::recursive_mutex> hold(lock)
// A fault is sticky, as on a GPU: later calls return CUDA_ERROR_ILLEGAL_ADDRESS, until the faults have been taken.
static int sticky() { return faults.empty() ? 0 : 700; }
static int capability() { return (int)env("PTXSIM_CC", 75); }
// A function whose attributes nobody has changed gets no more.
static const u32 MOST_SHARED = 48 << 10;
static char the_context[64];
static thread_local void *current = nullptr;
static int fake_handles[1024];
static int next_handle = 0;

static void write_coverage() {
    const char *folder = getenv("PTXSIM_COVERAGE");
    if (!folder) return;
    std::string path =
        std::string(folder) + "/" + std::to_string(capability()) + "-" + std::to_string(getpid()) + ".cov";
    FILE *f = fopen(path.c_str(), "w");
    if (!f) return;
    fprintf(f, "# steps %llu launches %llu threads %llu barriers %llu shuffles %llu accesses %llu faults %llu\n",
            (unsigned long long)total_steps, (unsigned long long)total_launches, (unsigned long long)total_threads,
            (unsigned long long)total_barriers, (unsigned long long)total_shuffles, (unsigned long long)total_accesses,
            (unsigned long long)fault_count);
    for (auto *m : modules)
        for (auto &k : m->kernels) {
            fprintf(f, "%s %llu %llu ", k->name.c_str(), (unsigned long long)k->launches,
                    (unsigned long long)k->executed);
            for (size_t n = 0; n < k->code.size(); n++)
                fputc((k->code[n].op == BRA && k->code[n].guarded ? 'a' : 'A') + (k->coverage[n] & 7), f);
            fputc('\n', f);
        }
    fclose(f);
}

API int cuInit(unsigned) {
    HOLD;
    static bool once = false;
    if (once) return 0;
    once = true;
    const char *s = getenv("PTXSIM_SCHEDULE");
    if (s && !strcmp(s, "inorder")) settings.schedule = IN_ORDER;
    if (s && !strcmp(s, "reverse")) settings.schedule = REVERSE;
    if (s && !strcmp(s, "lockstep")) settings.schedule = LOCKSTEP;
    settings.random_nan = env("PTXSIM_NAN", 0) != 0;
    settings.races = env("PTXSIM_RACES", 1) != 0;
    settings.resident = (int)env("PTXSIM_RESIDENT", 3);
    rng_state += env("PTXSIM_SEED", 1) * 0x632BE59BD9B4E019ull;
    atexit(write_coverage);
    return 0;
}
API int cuDriverGetVersion(int *v) {
    *v = (int)env("PTXSIM_DRIVER", 12040);
    return 0;
}
API int cuDeviceGetCount(int *n) {
    *n = 1;
    return 0;
}
API int cuDeviceGet(int *d, int n) {
    if (n) return 101;
    *d = 0;
    return 0;
}
API int cuDeviceGetAttribute(int *v, int attribute, int) {
    switch (attribute) {
    case 16: *v = (int)env("PTXSIM_SMS", capability() == 90 ? 132 : 40); return 0;
    case 75: *v = capability() / 10; return 0;
    case 76: *v = capability() % 10; return 0;
    }
    fprintf(stderr, "ptxsim: unknown device attribute %d\n", attribute);
    return 1;
}
API int cuDeviceGetName(char *name, int capacity, int) {
    snprintf(name, capacity, "ptxsim");
    return 0;
}
API int cuDevicePrimaryCtxRetain(void **c, int) {
    *c = the_context;
    return 0;
}
API int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
API int cuDevicePrimaryCtxGetState(int, unsigned *flags, int *active) {
    *flags = 0;
    *active = 1;
    return 0;
}
API int cuCtxGetCurrent(void **c) {
    *c = current;
    return 0;
}
API int cuCtxSetCurrent(void *c) {
    current = c;
    return 0;
}
API int cuCtxGetDevice(int *d) {
    if (!current) return 201;
    *d = 0;
    return 0;
}
API int cuCtxGetId(void *, unsigned long long *id) {
    *id = 1;
    return 0;
}
API int cuModuleLoadDataEx(void **m, const void *image, unsigned, int *, void **) {
    HOLD;
    // A cubin. The library then loads the PTX.
    if (strncmp((const char *)image, "\177ELF", 4) == 0) return 209;
    auto *module = new Module();
    Parser p{};
    p.p = (const char *)image;
    try {
        p.module(*module);
    } catch (ParseError &e) {
        fprintf(stderr, "ptxsim: PTX: %s\n", e.text.c_str());
        delete module;
        return 218;
    }
    if (p.target == "sm_90a" ? capability() != 90 : atoi(p.target.c_str() + 3) > capability()) {
        fprintf(stderr, "ptxsim: the device cannot run PTX for target %s\n", p.target.c_str());
        delete module;
        return 209;
    }
    if (env("PTXSIM_TRACE", 0))
        fprintf(stderr, "ptxsim: loaded %s for %s\n",
                module->kernels.empty() ? "nothing" : module->kernels[0]->name.c_str(), p.target.c_str());
    modules.push_back(module);
    *m = module;
    return 0;
}
API int cuModuleUnload(void *) { return 0; }
API int cuModuleGetFunction(void **f, void *m, const char *name) {
    HOLD;
    for (auto &k : ((Module *)m)->kernels)
        if (k->name == name) {
            *f = k.get();
            return 0;
        }
    return 500;
}
API int cuFuncLoad(void *) { return 0; }
// The matrix product kernels without split-K take the same arguments and differ only in their tiles; the library
// chooses one by an estimate. PTXSIM_TILES lists them, a line "entry rows columns threads shared" each; then every
// launch of one runs a random one of the same type instead.
struct Tile {
    std::string name;
    u64 rows, columns;
    u32 threads, shared;
};
static std::vector<Tile> read_tiles() {
    std::vector<Tile> tiles;
    const char *text = getenv("PTXSIM_TILES");
    std::istringstream lines(text ? text : "");
    for (Tile t; lines >> t.name >> t.rows >> t.columns >> t.threads >> t.shared;) tiles.push_back(t);
    return tiles;
}
static Kernel *find_kernel(const std::string &name) {
    for (auto *m : modules)
        for (auto &k : m->kernels)
            if (k->name == name) return k.get();
    return nullptr;
}
static Kernel *substitute(Kernel *k, unsigned *gx, unsigned *threads, unsigned *shared, void **arguments) {
    static const std::vector<Tile> tiles = read_tiles();
    std::vector<const Tile *> others;
    const Tile *own = nullptr;
    for (auto &tile : tiles) {
        if (tile.name == k->name) own = &tile;
        if (tile.name.substr(tile.name.size() - 3) == k->name.substr(k->name.size() - 3)) others.push_back(&tile);
    }
    if (!own) return k;
    if (*threads != own->threads || *shared != own->shared) {
        fault("the library launches other threads or shared memory than PTXSIM_TILES says: " + k->name);
        return k;
    }
    const Tile &other = *others[rnd() % others.size()];
    Kernel *replacement = find_kernel(other.name);
    if (!replacement) return k; // not loaded yet
    u64 rows = *(u64 *)arguments[0], columns = *(u64 *)arguments[1];
    *gx = (unsigned)((rows + other.rows - 1) / other.rows * ((columns + other.columns - 1) / other.columns));
    *threads = other.threads, *shared = other.shared;
    return replacement;
}
API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, void *, void **arguments, void **extra) {
    HOLD;
    if (sticky()) return sticky();
    Kernel &k = *substitute((Kernel *)f, &gx, &bx, &shared, arguments);
    u64 threads = (u64)bx * by * bz;
    if (!gx || !gy || !gz || gx > 0x7FFFFFFF || gy > 65535 || gz > 65535 || threads == 0 || threads > k.maxntid ||
        shared > MOST_SHARED || extra || by != 1 || bz != 1 || threads % 32) {
        fprintf(stderr, "ptxsim: refused launch of %s: grid %u %u %u, block %u %u %u, shared %u\n", k.name.c_str(), gx,
                gy, gz, bx, by, bz, shared);
        return 1;
    }
    Launch l{k, {gx, gy, gz}, (u32)threads, shared, ++launch_number, {}, {}, {}, 0, 0, false};
    static bool trace = env("PTXSIM_TRACE", 0);
    if (trace) fprintf(stderr, "ptxsim: %s grid %u,%u,%u block %u shared %u\n", k.name.c_str(), gx, gy, gz, bx, shared);
    simulate(l, arguments);
    return 0;
}
API int cuStreamCreate(void **s, unsigned) {
    HOLD;
    *s = &fake_handles[next_handle++ & 1023];
    return 0;
}
API int cuStreamDestroy_v2(void *) { return 0; }
API int cuStreamSynchronize(void *) { return sticky(); }
API int cuStreamIsCapturing(void *, int *s) {
    *s = 0;
    return 0;
}
API int cuThreadExchangeStreamCaptureMode(int *m) {
    static thread_local int mode = 0;
    std::swap(*m, mode);
    return 0;
}
API int cuEventCreate(void **e, unsigned) {
    HOLD;
    *e = &fake_handles[next_handle++ & 1023];
    return 0;
}
API int cuEventDestroy_v2(void *) { return 0; }
API int cuEventRecord(void *, void *) { return 0; }
API int cuEventSynchronize(void *) { return sticky(); }
API int cuEventElapsedTime(float *ms, void *, void *) {
    *ms = 1;
    return 0;
}
API int cuMemAlloc_v2(u64 *p, size_t bytes) {
    HOLD;
    if (!bytes) return 1;
    Alloc *a = allocate(bytes, 0);
    if (!a) return 2;
    *p = a->addr;
    return 0;
}
API int cuMemFree_v2(u64 p) {
    HOLD;
    auto it = allocs.find(p);
    if (it == allocs.end() || !it->second->live) {
        fault("free of " + where(p));
        return 1;
    }
    Alloc *a = it->second;
    munmap(a->mem, std::max<u64>(a->size, 1));
    munmap(a->words, (a->size / 4 + 2) * sizeof(Shadow));
    if (a->bytes) munmap(a->bytes, a->size * sizeof(Shadow));
    a->live = false;
    return 0;
}
API int cuMemGetInfo_v2(size_t *free, size_t *total) {
    *free = *total = 1ull << 33;
    return 0;
}
API int cuMemHostAlloc(void **p, size_t bytes, unsigned) {
    *p = calloc(1, bytes);
    return *p ? 0 : 2;
}
API int cuMemFreeHost(void *p) {
    free(p);
    return 0;
}
API int cuMemcpyAsync(u64 to, u64 from, size_t bytes, void *) {
    HOLD;
    u8 *t = host_view(to, bytes), *f = host_view(from, bytes);
    if (!t || !f) {
        fault("copy of " + std::to_string(bytes) + " bytes between " + where(from) + " and " + where(to));
        return 1;
    }
    memmove(t, f, bytes);
    return sticky();
}
API int cuMemsetD32Async(u64 p, unsigned value, size_t count, void *) {
    HOLD;
    u8 *m = is_device(p) && p % 4 == 0 ? host_view(p, count * 4) : nullptr;
    if (!m) {
        fault("set of " + std::to_string(count) + " words at " + where(p));
        return 1;
    }
    for (size_t n = 0; n < count; n++) memcpy(m + 4 * n, &value, 4);
    return sticky();
}
API int cuPointerGetAttributes(unsigned count, int *attributes, void **values, u64 p) {
    HOLD;
    Alloc *a = is_device(p) ? find_alloc(p) : nullptr;
    bool allocated = a && a->live && p - a->addr < a->size;
    for (unsigned n = 0; n < count; n++) switch (attributes[n]) {
        case 1: *(void **)values[n] = allocated ? the_context : nullptr; break;
        case 2: *(u32 *)values[n] = allocated ? 2 : 0; break;
        case 8: *(u32 *)values[n] = 0; break;
        case 9: *(int *)values[n] = allocated ? 0 : -2; break;
        default: return 1;
        }
    return 0;
}

// Allocates device memory at an address `shift` above a multiple of 64 KiB, with unmapped addresses before and after.
API u64 ptxsim_alloc(u64 bytes, u64 shift) {
    HOLD;
    Alloc *a = allocate(bytes, shift);
    return a ? a->addr : 0;
}
API int ptxsim_readonly(u64 p, int on) {
    HOLD;
    auto it = allocs.find(p);
    if (it == allocs.end()) return 1;
    it->second->readonly = on;
    return 0;
}
// Takes the oldest fault and writes its text; returns 0 if there is none.
API int ptxsim_take_fault(char *text, int capacity) {
    HOLD;
    if (faults.empty()) return 0;
    snprintf(text, capacity, "%s", faults.front().c_str());
    faults.erase(faults.begin());
    return 1;
}
API void ptxsim_seed(u64 seed) { rng_state = seed * 0x632BE59BD9B4E019ull + 1; }
API void ptxsim_schedule(int s) { settings.schedule = s; }
API u64 ptxsim_steps() { return total_steps; }
API u64 ptxsim_launches() { return total_launches; }
