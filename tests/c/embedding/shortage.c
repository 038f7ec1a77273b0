/* Each request for memory or a thread fails in turn: a call then succeeds without it or returns a status, and
 * all calls succeed once requests succeed again. The program is linked with --wrap, so that the library's requests
 * come here; the requests of the C library itself do not. */
#define _GNU_SOURCE
#include "../bits.h"
#include "../check.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 190, ENOUGH = 1 << 30 };

static float a[SIDE * SIDE], c[SIDE * SIDE];

/* The number of requests before the one that fails, and the number of blocks that are not freed. */
static int left = ENOUGH, live;

static int refused(void)
{
    return __atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST) == 0;
}

static void *counted(void *block)
{
    __atomic_fetch_add(&live, block != NULL, __ATOMIC_SEQ_CST);
    return block;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
int __real_posix_memalign(void **block, size_t alignment, size_t size);
void __real_free(void *block);
int __real_pthread_key_create(pthread_key_t *key, void (*end)(void *));
int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refused() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    if (refused()) {
        return NULL;
    }
    return block == NULL ? counted(__real_realloc(block, size)) : __real_realloc(block, size);
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t size)
{
    const int error = refused() ? ENOMEM : __real_posix_memalign(block, alignment, size);
    counted(error == 0 ? *block : NULL);
    return error;
}

void __wrap_free(void *block)
{
    __atomic_fetch_sub(&live, block != NULL, __ATOMIC_SEQ_CST);
    __real_free(block);
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
    return refused() ? EAGAIN : __real_pthread_key_create(key, end);
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    return refused() ? ENOMEM : __real_pthread_setspecific(key, value);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    return refused() ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

/* B is transposed, so that it is packed into scratch memory. */
static void product(const dpt_exec *exec)
{
    OK(dpt_gemm_f32(exec, SIDE, SIDE, SIDE, 1, a, SIDE, 1, a, 1, SIDE, 0, c, SIDE, 1));
    CHECK(c[0] == SIDE && c[SIDE * SIDE - 1] == SIDE);
}

static void device(void)
{
    float x = 1, out = 0;
    dpt_exec exec = plain_exec();
    exec.device = DPT_DEVICE_CUDA;
    if (!dpt_cuda_available()) {
        const dpt_status none = dpt_cuda_preload(NULL);
        CHECK(none != DPT_OK && dpt_last_error()[0] != '\0');
        STATUS(none, dpt_square_f32(&exec, 1, &x, &out));
    }
}

/* Makes all calls that may request memory or threads. */
static void everything(int may_fail)
{
    uint64_t got[2][BITS_FAMILIES];
    dpt_advice advice = {.struct_size = sizeof advice};
    dpt_pool *pool = (dpt_pool *)got;
    STATUS(DPT_NULL_POINTER, dpt_fill_f32(NULL, 1, 0, NULL));
    CHECK(bits_run(NULL, got) == 0);
    product(NULL);
    device();
    OK(dpt_advise_f32(NULL, "add", 0, 4, 0, DPT_DEVICE_CPU, &advice));
    const dpt_status status = dpt_pool_create(4, &pool);
    if (status == DPT_OK) {
        dpt_exec exec = plain_exec();
        OK(dpt_pool_exec(pool, &exec));
        product(&exec);
    } else {
        CHECK(may_fail && (status == DPT_OUT_OF_MEMORY || status == DPT_THREADS_UNAVAILABLE));
        CHECK(pool == NULL && strstr(dpt_last_error(), "dpt_pool_create") != NULL);
    }
    dpt_pool_destroy(pool);
}

static void *twice(void *request)
{
    left = *(int *)request;
    everything(1);
    *(int *)request = left < 0;
    left = ENOUGH;
    everything(0);
    return NULL;
}

/* Makes all calls in a process that has made none, with the request of this number failing. Returns 0 if all is right,
 * 1 if not, and 2 if there were fewer requests. */
static int refuse(int request)
{
    pthread_t thread;
    alarm(300);
    CHECK(__real_pthread_create(&thread, NULL, twice, &request) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(live == 0);
    left = 0;
    STATUS(DPT_OUT_OF_MEMORY, dpt_advise_measure(NULL));
    const int failed = check_result("shortage");
    fflush(stdout);
    return failed ? 1 : request ? 0 : 2;
}

/* All thread-specific keys of the C library are in use: calls still get scratch memory, and free it. */
static void *without_keys(void *unused)
{
    pthread_key_t key;
    while (__real_pthread_key_create(&key, NULL) == 0) {
    }
    everything(0);
    everything(0);
    return unused;
}

static void late(void *unused)
{
    (void)unused;
    product(NULL);
}

/* Thread exit: the destructors of keys created before and after the library's key call the library. */
static void *at_the_end(void *unused)
{
    pthread_key_t before, after;
    CHECK(__real_pthread_key_create(&before, late) == 0);
    product(NULL);
    CHECK(__real_pthread_key_create(&after, late) == 0);
    CHECK(__real_pthread_setspecific(before, &live) == 0);
    CHECK(__real_pthread_setspecific(after, &live) == 0);
    return unused;
}

/* Runs a function on a thread in a process of its own, which must free all memory. */
static void apart(void *(*run)(void *))
{
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        alarm(300);
        CHECK(__real_pthread_create(&thread, NULL, run, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(live == 0);
        const int failed = check_result("shortage, apart");
        fflush(stdout);
        _exit(failed);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
    int status = 0, request = -1;
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = 1;
    }
    while (status == 0) {
        const pid_t child = fork();
        request++;
        if (child == 0) {
            _exit(refuse(request));
        }
        if (child < 0 || waitpid(child, &status, 0) != child) {
            status = -1;
        }
    }
    /* At least: the pool's board, list, handle and three threads; scratch memory, its key and the key's value. */
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 2 && request > 8);
    printf("%d requests refused in turn\n", request);
    apart(without_keys);
    apart(at_the_end);
    return check_result("shortage");
}
