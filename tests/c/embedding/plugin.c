/* The shared library, named by the first argument, is opened and closed again and again, with RTLD_LOCAL:
 * it leaves nothing behind, neither mappings nor memory, whether the threads that used it end before it or not. */
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

/* A POSIX system gives functions as pointers to objects. */
#define FIND(library, type, name) (*(type **)(void *[1]){dlsym(library, name)})

/* B is transposed, so that it is rearranged in the thread's scratch memory. */
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

/* What the thread that stays is to call, between two meetings with main; NULL: nothing more. */
static void *lent;
static pthread_barrier_t meeting;

static void *stayer(void *unused)
{
    for (;;) {
        pthread_barrier_wait(&meeting);
        if (lent == NULL) {
            return unused;
        }
        calls(lent);
        pthread_barrier_wait(&meeting);
    }
}

static void meet(void *library)
{
    lent = library;
    pthread_barrier_wait(&meeting);
}

/* Calls on this thread, on one that stays, and on one that ends before the library goes. */
static void use(void *library)
{
    pthread_t thread;
    calls(library);
    meet(library);
    meet(library);
    CHECK(pthread_create(&thread, NULL, caller, library) == 0);
    pthread_join(thread, NULL);
}

/* Lines of a file of /proc, or its second number. */
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
        /* Threads that used it stay, but it does not. */
        CHECK(dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) == NULL);
        if (round == WARM) {
            mappings = lines("/proc/self/maps");
            pages = resident_pages();
        }
    }
    /* Not one for every tenth round, nor 20 KiB a round. Some may come late: which thread computes which part
     * is chance, and glibc opens an arena (two mappings) for a thread that allocates beside another. */
    CHECK(count > 1 && lines("/proc/self/maps") < mappings + (ROUNDS - WARM) / 10);
    CHECK(resident_pages() < pages + (ROUNDS - WARM) * 5);
    /* A thread ends after the library that it used. */
    meet(NULL);
    pthread_join(staying, NULL);
    return check_result("plugin");
}
