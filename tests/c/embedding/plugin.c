/* Opens and closes the shared library named by the first argument many times, with RTLD_LOCAL: it must leave neither
 * mappings nor memory behind, whether or not the threads that used it end before it is closed. */
#define _GNU_SOURCE
#include "../check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

typedef dpt_status gemm(const dpt_exec *, int64_t, int64_t, int64_t, float, const float *, int64_t,
                        int64_t, const float *, int64_t, int64_t, float, float *, int64_t, int64_t);
typedef dpt_status create(int32_t, dpt_pool **);
typedef dpt_status fill(dpt_pool *, dpt_exec *);
typedef void destroy(dpt_pool *);

enum { SIDE = 300, ROUNDS = 220, WARM = 20 };

static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];

/* dlsym returns a function as a pointer to an object. */
#define FIND(library, type, name) (*(type **)(void *[1]){dlsym(library, name)})

/* B is transposed, so that it is packed into the thread's scratch memory. */
static void calls(void *library)
{
    gemm *product = FIND(library, gemm, "dpt_gemm_f32");
    dpt_exec exec = plain_exec();
    dpt_pool *pool = NULL;
    CHECK(FIND(library, create, "dpt_pool_create")(2, &pool) == DPT_OK);
    CHECK(FIND(library, fill, "dpt_pool_exec")(pool, &exec) == DPT_OK);
    CHECK(product(NULL, SIDE, SIDE, SIDE, 1, a, SIDE, 1, b, 1, SIDE, 0, c, SIDE, 1) == DPT_OK);
    CHECK(c[SIDE + 1] == SIDE);
    CHECK(product(&exec, SIDE, SIDE, SIDE, 1, a, SIDE, 1, b, 1, SIDE, 0, c, SIDE, 1) == DPT_OK);
    CHECK(c[SIDE * SIDE - 1] == SIDE);
    FIND(library, destroy, "dpt_pool_destroy")(pool);
}

static void *caller(void *library)
{
    calls(library);
    return NULL;
}

/* The library that the long-lived thread calls between two meetings with main; NULL ends the thread. */
static void *current;
static pthread_barrier_t meeting;

static void *stayer(void *unused)
{
    for (;;) {
        pthread_barrier_wait(&meeting);
        if (current == NULL) {
            return unused;
        }
        calls(current);
        pthread_barrier_wait(&meeting);
    }
}

static void meet(void *library)
{
    current = library;
    pthread_barrier_wait(&meeting);
}

/* Makes calls on this thread, on the long-lived one, and on one that ends before the library is closed. */
static void use(void *library)
{
    pthread_t thread;
    calls(library);
    meet(library);
    meet(library);
    CHECK(pthread_create(&thread, NULL, caller, library) == 0);
    pthread_join(thread, NULL);
}

/* Returns the number of lines of a file. */
static long lines(const char *path)
{
    FILE *file = fopen(path, "r");
    long count = 0;
    for (int ch; file != NULL && (ch = getc(file)) != EOF;) {
        count += ch == '\n';
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static long resident_pages(void)
{
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &resident) == 2);
    if (file != NULL) {
        fclose(file);
    }
    return resident;
}

int main(int count, char **arguments)
{
    long mappings = 0, pages = 0;
    pthread_t staying;
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = b[i] = 1;
    }
    CHECK(pthread_barrier_init(&meeting, NULL, 2) == 0);
    CHECK(pthread_create(&staying, NULL, stayer, NULL) == 0);
    for (int round = 0; count > 1 && round < ROUNDS; round++) {
        void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        CHECK(library != NULL && dlsym(RTLD_DEFAULT, "dpt_gemm_f32") == NULL);
        if (library == NULL) {
            printf("%s\n", dlerror());
            break;
        }
        use(library);
        CHECK(dlclose(library) == 0);
        /* The library is unloaded although threads that used it are alive. */
        CHECK(dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) == NULL);
        if (round == WARM) {
            mappings = lines("/proc/self/maps");
            pages = resident_pages();
        }
    }
    /* Fewer than one new mapping in ten rounds, and less than 20 KiB per round. Some mappings may appear late: glibc
     * opens an arena (two mappings) for a thread that allocates at the same time as another, which is up to chance. */
    CHECK(count > 1 && lines("/proc/self/maps") < mappings + (ROUNDS - WARM) / 10);
    CHECK(resident_pages() < pages + (ROUNDS - WARM) * 5);
    /* The thread ends after the library that it used was closed. */
    meet(NULL);
    pthread_join(staying, NULL);
    return check_result("plugin");
}
