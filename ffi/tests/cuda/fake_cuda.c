/* A libcuda without a GPU, for tests: device memory is host memory, launches call a function of the test,
 * every call is recorded, and each function can be made to fail. Only what libdiptych uses is here. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

typedef int Result;
typedef void *Handle;

enum { OK, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_CONTEXT = 201, INVALID_HANDLE = 400,
       NOT_FOUND = 500, CAPTURE_UNSUPPORTED = 900 };
enum { HOST = 1, DEVICE = 2 };
enum { ROOM = 1 << 16, BLOCKS = 4096, CONTEXTS = 8, FUNCTIONS = 4096, FAILURES = 16 };

typedef struct {
    char *start;
    size_t bytes;
    Handle context;
    int device, kind, managed;
} Block;
typedef void (*Launch)(const char *name, const unsigned *grid_block_shared, void *stream, void **arguments);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char written[ROOM];
static size_t length;
static Block blocks[BLOCKS];
static size_t block_count;
static char *names[FUNCTIONS];
static size_t name_count;
static struct { const char *call; Result code; } failures[FAILURES];
static size_t failure_count;
static int devices = 1, major = 9, minor = 0, version = 12080, capturing, relaxed;
static int primaries[2]; /* How often each has been retained: its context's handle points here. */
static int everything_on_device;
static _Thread_local Handle current;
static Launch launch;

/* Records a word. The caller holds the lock. */
static void note(const char *word)
{
    if (length + strlen(word) + 2 < ROOM) {
        length += (size_t)sprintf(written + length, "%s ", word);
    }
}
/* Records the call, and returns the code that it is to fail with, or OK. */
static Result call(const char *name)
{
    Result code = OK;
    pthread_mutex_lock(&lock);
    note(name);
    for (size_t i = 0; i < failure_count; i++) {
        if (strcmp(failures[i].call, name) == 0) {
            code = failures[i].code;
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

#define CALL                                                                                                  \
    Result code = call(__func__);                                                                             \
    if (code != OK) {                                                                                         \
        return code;                                                                                          \
    }
/* Begins a function that is not allowed during a capture in its default mode. */
#define UNSAFE                                                                                                \
    CALL if (capturing && !relaxed)                                                                           \
    {                                                                                                         \
        return CAPTURE_UNSUPPORTED;                                                                           \
    }

/* Control functions for the tests. */
const char *fake_written(void)
{
    return written;
}
void fake_forget(void)
{
    pthread_mutex_lock(&lock);
    written[length = 0] = 0;
    pthread_mutex_unlock(&lock);
}
void fake_fail(const char *name, Result code)
{
    failures[failure_count].call = strdup(name);
    failures[failure_count++].code = code;
}
void fake_heal(void)
{
    failure_count = 0;
}
void fake_machine(int count, int capability_major, int capability_minor, int driver)
{
    devices = count;
    major = capability_major;
    minor = capability_minor;
    version = driver;
}
/* 0: no stream is being captured; 1: every stream is; 2: only a stream of another thread is. */
void fake_capture(int on)
{
    capturing = on;
}
void fake_on_launch(Launch function)
{
    launch = function;
}
void fake_context(Handle context)
{
    current = context;
}
int fake_retained(int device)
{
    return primaries[device];
}
/* Sets whether memory that was not allocated here counts as managed device memory. */
void fake_everything_on_device(int on)
{
    everything_on_device = on;
}
/* Allocates memory of any kind, also of kinds that the library never allocates. */
void *fake_memory(size_t bytes, int kind, int managed, Handle context, int device)
{
    void *start = aligned_alloc(256, (bytes + 255) / 256 * 256);
    pthread_mutex_lock(&lock);
    size_t place = 0;
    while (place < block_count && blocks[place].start) {
        place++;
    }
    if (place == BLOCKS) {
        pthread_mutex_unlock(&lock);
        free(start);
        return NULL;
    }
    block_count += place == block_count;
    blocks[place] = (Block){start, bytes, context, device, kind, managed};
    pthread_mutex_unlock(&lock);
    return start;
}
size_t fake_live(void)
{
    size_t live = 0;
    for (size_t i = 0; i < block_count; i++) {
        live += blocks[i].start != NULL;
    }
    return live;
}

static Result release(void *start)
{
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].start == start) {
            blocks[i].start = NULL;
            free(start);
            return OK;
        }
    }
    return INVALID_VALUE;
}

/* The functions of the driver. */
Result cuInit(unsigned flags)
{
    CALL return flags == 0 ? (devices > 0 ? OK : NO_DEVICE) : INVALID_VALUE;
}
Result cuDriverGetVersion(int *out)
{
    CALL *out = version;
    return OK;
}
Result cuDeviceGetCount(int *count)
{
    CALL *count = devices;
    return OK;
}
Result cuDeviceGet(int *device, int ordinal)
{
    CALL *device = ordinal;
    return OK;
}
Result cuDeviceGetName(char *name, int room, int device)
{
    CALL snprintf(name, (size_t)room, "fake %d", device);
    return OK;
}
Result cuDeviceGetAttribute(int *value, int attribute, int device)
{
    CALL(void) device;
    *value = attribute == 16 ? 4 : attribute == 75 ? major : attribute == 76 ? minor : 166912;
    return OK;
}
Result cuDevicePrimaryCtxRetain(Handle *context, int device)
{
    CALL primaries[device]++;
    *context = &primaries[device];
    return OK;
}
Result cuDevicePrimaryCtxRelease_v2(int device)
{
    CALL return primaries[device]-- > 0 ? OK : INVALID_CONTEXT;
}
Result cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    CALL *flags = 0;
    *active = primaries[device] > 0;
    return OK;
}
Result cuCtxGetCurrent(Handle *context)
{
    CALL *context = current;
    return OK;
}
Result cuCtxSetCurrent(Handle context)
{
    CALL current = context;
    return OK;
}
Result cuCtxGetDevice(int *device)
{
    CALL *device = current == &primaries[1];
    return OK;
}
Result cuModuleLoadDataEx(Handle *module, const void *image, unsigned count, int *options, void **values)
{
    UNSAFE(void) count, (void)options, (void)values;
    if (!strstr(image, ".target sm_75") && !(major == 9 && strstr(image, ".target sm_90"))) {
        return 209;
    }
    *module = strdup(image);
    return OK;
}
Result cuModuleUnload(Handle module)
{
    CALL free(module);
    return OK;
}
Result cuModuleGetFunction(Handle *function, Handle module, const char *name)
{
    CALL char entry[128];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    if (!strstr(module, entry)) {
        return NOT_FOUND;
    }
    snprintf(entry, sizeof entry, "kernel:%s", name);
    pthread_mutex_lock(&lock);
    note(entry);
    names[name_count] = strdup(name);
    *function = names[name_count++];
    pthread_mutex_unlock(&lock);
    return OK;
}
Result cuLaunchKernel(Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, Handle stream, void **arguments, void **extra)
{
    CALL const unsigned shape[] = {gx, gy, gz, bx, shared};
    if (!gx || !gy || !gz || gy > 65535 || gz > 65535 || by != 1 || bz != 1 || extra) {
        return INVALID_VALUE;
    }
    if (launch) {
        launch(function, shape, stream, arguments);
    }
    return OK;
}
Result cuStreamCreate(Handle *stream, unsigned flags)
{
    CALL(void) flags;
    *stream = malloc(64);
    return OK;
}
Result cuStreamDestroy_v2(Handle stream)
{
    CALL free(stream);
    return OK;
}
Result cuStreamSynchronize(Handle stream)
{
    UNSAFE(void) stream;
    return OK;
}
#ifndef FAKE_TOO_OLD
Result cuStreamIsCapturing(Handle stream, int *status)
{
    CALL(void) stream;
    *status = capturing == 1;
    return OK;
}
#endif
Result cuThreadExchangeStreamCaptureMode(int *mode)
{
    CALL const int was = relaxed ? 2 : 0;
    relaxed = *mode == 2;
    *mode = was;
    return OK;
}
Result cuEventCreate(Handle *event, unsigned flags)
{
    CALL(void) flags;
    *event = malloc(16);
    return OK;
}
Result cuEventDestroy_v2(Handle event)
{
    CALL free(event);
    return OK;
}
Result cuEventRecord(Handle event, Handle stream)
{
    CALL(void) event, (void)stream;
    return OK;
}
Result cuEventSynchronize(Handle event)
{
    CALL(void) event;
    return OK;
}
Result cuEventElapsedTime(float *milliseconds, Handle from, Handle to)
{
    CALL(void) from, (void)to;
    *milliseconds = 1;
    return OK;
}
Result cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    UNSAFE *address = (uint64_t)(uintptr_t)fake_memory(bytes, DEVICE, 0, current, current == &primaries[1]);
    return *address ? OK : OUT_OF_MEMORY;
}
Result cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
    UNSAFE(void) flags;
    *address = (uint64_t)(uintptr_t)fake_memory(bytes, DEVICE, 1, current, 0);
    return *address ? OK : OUT_OF_MEMORY;
}
Result cuMemAdvise(uint64_t address, size_t bytes, int advice, int device)
{
    CALL(void) address, (void)bytes, (void)advice, (void)device;
    return OK;
}
Result cuMemFree_v2(uint64_t address)
{
    UNSAFE return release((void *)(uintptr_t)address);
}
Result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    CALL *free_bytes = *total = (size_t)1 << 30;
    return OK;
}
Result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    UNSAFE(void) flags;
    *pointer = fake_memory(bytes, HOST, 0, current, 0);
    return *pointer ? OK : OUT_OF_MEMORY;
}
Result cuMemFreeHost(void *pointer)
{
    UNSAFE return release(pointer);
}
Result cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, Handle stream)
{
    CALL(void) stream;
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return OK;
}
Result cuMemsetD32Async(uint64_t address, unsigned value, size_t count, Handle stream)
{
    CALL(void) stream;
    for (size_t i = 0; i < count; i++) {
        ((unsigned *)(uintptr_t)address)[i] = value;
    }
    return OK;
}
Result cuPointerGetAttributes(unsigned count, int *attributes, void **values, uint64_t pointer)
{
    CALL Block found = {0};
    if (!current) {
        return INVALID_CONTEXT;
    }
    if (everything_on_device) {
        found = (Block){.start = (char *)(uintptr_t)pointer, .kind = DEVICE, .managed = 1};
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < block_count; i++) {
        const uint64_t start = (uint64_t)(uintptr_t)blocks[i].start;
        if (start && pointer >= start && pointer < start + blocks[i].bytes) {
            found = blocks[i];
        }
    }
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < count; i++) {
        switch (attributes[i]) {
        case 1: *(Handle *)values[i] = found.context; break;
        case 2: *(unsigned *)values[i] = (unsigned)found.kind; break;
        case 8: *(unsigned *)values[i] = (unsigned)found.managed; break;
        case 9: *(int *)values[i] = found.start ? found.device : -2; break;
        default: return INVALID_VALUE;
        }
    }
    return OK;
}
#ifndef FAKE_OLD
Result cuCtxGetId(Handle context, unsigned long long *id)
{
    CALL *id = (uintptr_t)context / 8 + 1;
    return OK;
}
Result cuFuncLoad(Handle function)
{
    UNSAFE(void) function;
    return OK;
}
#endif
