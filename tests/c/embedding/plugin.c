/* The shared library, named by the first argument, is opened and closed again and again, with RTLD_LOCAL:
 * it leaves nothing behind, neither mappings nor memory. */
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
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = b[i] = 1;
    }
    for (int round = 0; count > 1 && round < ROUNDS; round++) {
        void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        pthread_t thread;
        CHECK(library != NULL && dlsym(RTLD_DEFAULT, "dpt_gemm_f32") == NULL);
        if (library == NULL) {
            printf("%s\n", dlerror());
            break;
        }
        if (pthread_create(&thread, NULL, caller, library) == 0) {
            pthread_join(thread, NULL);
        }
        CHECK(dlclose(library) == 0);
        if (round == WARM) {
            mappings = lines("/proc/self/maps");
            pages = resident_pages();
        }
    }
    /* Not one for every tenth round, nor 20 KiB a round. Some may come late: which thread computes which part
     * is chance, and glibc opens an arena (two mappings) for a thread that allocates beside another. */
    CHECK(count > 1 && lines("/proc/self/maps") < mappings + (ROUNDS - WARM) / 10);
    CHECK(resident_pages() < pages + (ROUNDS - WARM) * 5);
    /* Threads that used it are gone, and so is the library. */
    CHECK(count > 1 && dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) == NULL);
    return check_result("plugin");
}
