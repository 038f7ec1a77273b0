/* Calls in unusual states of a process: before main, after a fork from a parent with threads, without
 * environment variables, during exit. All give the same bits as in main. */
#define _GNU_SOURCE
#include "../bits.h"
#include "../check.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t before_main[2][BITS_FAMILIES];
static int wrong_before_main = -1;

static void __attribute__((constructor)) constructor(void)
{
    wrong_before_main = bits_run(NULL, before_main);
}

static int on_pool(dpt_exec *exec)
{
    uint64_t got[2][BITS_FAMILIES];
    return bits_run(exec, got);
}

/* The parent's pool has no threads in the child, so the child creates a pool of its own. */
static int child(void)
{
    dpt_pool *pool = NULL;
    dpt_exec exec = plain_exec();
    int wrong = on_pool(NULL);
    wrong += dpt_pool_create(2, &pool) != DPT_OK || dpt_pool_exec(pool, &exec) != DPT_OK;
    wrong += on_pool(&exec);
    dpt_pool_destroy(pool);
    return wrong;
}

static void forks(void)
{
    dpt_pool *pool = NULL;
    dpt_exec exec = plain_exec();
    OK(dpt_pool_create(3, &pool));
    OK(dpt_pool_exec(pool, &exec));
    CHECK(on_pool(&exec) == 0);
    for (int i = 0; i < 3; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            alarm(300);
            _exit(child());
        }
        int status = -1;
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(on_pool(&exec) == 0);
    }
    dpt_pool_destroy(pool);
}

enum { SIDE = 190, THREADS = 3 };

static float zeros[SIDE * SIDE], products[THREADS][SIDE * SIDE];

/* B is transposed, so that it is packed into scratch memory. */
static void *for_ever(void *out)
{
    dpt_status status = DPT_OK;
    while (status == DPT_OK) {
        status = dpt_gemm_f32(NULL, SIDE, SIDE, SIDE, 1, zeros, SIDE, 1, zeros, 1, SIDE, 0, out, SIDE, 1);
    }
    abort();
}

/* The process exits while threads are inside calls, each time at a different point. */
static void ends(void)
{
    for (int i = 0; i < 50; i++) {
        fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) {
            pthread_t thread;
            alarm(300);
            for (int j = 0; j < THREADS; j++) {
                CHECK(pthread_create(&thread, NULL, for_ever, products[j]) == 0);
            }
            usleep(1000 + 100 * (useconds_t)i);
            exit(check_failures);
        }
        int status = -1;
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    }
}

int main(void)
{
    CHECK(wrong_before_main == 0);
    CHECK(clearenv() == 0);
    OK(dpt_force_cpu_level(DPT_LEVEL_AUTO));
    CHECK(on_pool(NULL) == 0);
    forks();
    ends();
    return check_result("process");
}
