/* The state of the libcuda without a GPU, and the functions with which tests control it. */
#ifndef FAKE_STATE_H
#define FAKE_STATE_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
typedef void *Handle;

enum { OK, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_CONTEXT = 201,
       NO_BINARY = 209, INVALID_HANDLE = 400, NOT_FOUND = 500, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901,
       CAPTURE_IMPLICIT = 906 };
enum { HOST = 1, DEVICE = 2 };
enum { ROOM = 1 << 16, BLOCKS = 4096, HANDLES = 8192, FAILURES = 16 };
enum { SHARED_BYTES = 48 << 10 }; /* Without a request for more. */

typedef struct {
    char *start;
    size_t bytes;
    Handle context;
    int device, kind, managed;
} Block;
/* A stream, an event, a module or a function, at whose address its handle points. */
typedef enum { NONE, STREAM, EVENT, MODULE, FUNCTION } Type;
typedef struct {
    Type type;
    Handle context;
    char *text;       /* A module's PTX or what stands for it, a function's name. */
    unsigned threads; /* The greatest block of a function. */
    int recorded;     /* Whether an event has been. */
} Object;
typedef void (*Launch)(const char *name, const unsigned *grid_block_shared, void *stream, void **arguments);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char written[ROOM];
static size_t length;
static Block blocks[BLOCKS];
static size_t block_count;
static Object objects[HANDLES];
static struct { const char *call; Result code; } failures[FAILURES];
static size_t failure_count;
static int devices = 1, major = 9, minor = 0, version = 12080, capturing, invalidated, relaxed;
static Result fault, cubin_refusal;
static int forked;
static int primaries[2]; /* How often each has been retained: its context's handle points here. */
static int everything_on_device;
/* Without a call for each access: budgets count the instructions. */
static __attribute__((tls_model("initial-exec"))) _Thread_local Handle current;
static Launch launch;

/* Records a word. The caller holds the lock. */
static void note(const char *word)
{
    enum { MOST = 160 };
    if (length + MOST < ROOM) {
        const size_t letters = strlen(word);
        memcpy(written + length, word, letters);
        memcpy(written + length + letters, " ", 2);
        length += letters + 1;
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

static void in_child(void)
{
    forked = 1;
}

/* Begins every function. A process that was forked after cuInit gets nothing from the driver. */
#define CALL                                                                                                  \
    Result code = call(__func__);                                                                             \
    if (code != OK || forked) {                                                                               \
        return code != OK ? code : NOT_INITIALIZED;                                                           \
    }
/* Begins a function that needs a current context. A fault of a kernel is its answer from then on. */
#define IN_CONTEXT                                                                                            \
    CALL if (!current || fault)                                                                               \
    {                                                                                                         \
        return current ? fault : INVALID_CONTEXT;                                                             \
    }
/* Begins such a function that is not allowed during a capture in its default mode. */
#define UNSAFE                                                                                                \
    IN_CONTEXT if (capturing && !relaxed)                                                                     \
    {                                                                                                         \
        invalidated = 1;                                                                                      \
        return CAPTURE_UNSUPPORTED;                                                                           \
    }
/* Begins a function that adds work to a stream, which is captured instead if the stream is. */
#define ON_STREAM                                                                                             \
    IN_CONTEXT if ((code = stream_state(stream)) != OK)                                                       \
    {                                                                                                         \
        invalidated |= code == CAPTURE_IMPLICIT;                                                              \
        return code;                                                                                          \
    }

/* Makes a handle of the current context. */
static Object *make(Type type)
{
    Object *object = objects;
    pthread_mutex_lock(&lock);
    while (object->type != NONE) {
        if (++object == objects + HANDLES) {
            abort();
        }
    }
    *object = (Object){.type = type, .context = current};
    pthread_mutex_unlock(&lock);
    return object;
}
static int is(Handle handle, Type type)
{
    const Object *object = handle;
    return object >= objects && object < objects + HANDLES && object->type == type;
}
/* The legacy stream waits for all others, so work on it would join a capture. Handles that are not of this file are
 * streams too, of any context. */
static Result stream_state(Handle stream)
{
    const Object *object = stream;
    if (object >= objects && object < objects + HANDLES && (!is(stream, STREAM) || object->context != current)) {
        return INVALID_HANDLE;
    }
    if (capturing && (uintptr_t)stream <= 1) {
        return CAPTURE_IMPLICIT;
    }
    return capturing == 1 && invalidated ? CAPTURE_INVALIDATED : OK;
}
/* Whether these bytes lie in one allocation; bytes outside of all are the host's. */
static int lie_in_one(uint64_t address, size_t bytes, int host_too)
{
    int fits = host_too || everything_on_device;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < block_count; i++) {
        const uint64_t start = (uint64_t)(uintptr_t)blocks[i].start;
        if (start && address >= start && address < start + blocks[i].bytes) {
            fits = bytes <= start + blocks[i].bytes - address;
        }
    }
    pthread_mutex_unlock(&lock);
    return fits;
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
/* The answer to every cubin from now on: the error of a driver that does not know the format, for instance. */
void fake_refuse_cubins(Result code)
{
    cubin_refusal = code;
}
/* 0: no stream is being captured; 1: every stream is; 2: only a stream of another thread is. */
void fake_capture(int on)
{
    capturing = on;
    invalidated = 0;
}
int fake_invalidated(void)
{
    return invalidated;
}
/* The error of a kernel: every later call in a context reports it. */
void fake_fault(Result code)
{
    fault = code;
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

#endif
