/* The caller's threads, the library's pool, many callers at once, and fork all give the same bits. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "dtype.h"
#include "generated/operations.inc.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define T float
#define SUFFIX _f32
#include "threads.inc.h"
#undef T
#undef SUFFIX

#define T double
#define SUFFIX _f64
#include "threads.inc.h"
#undef T
#undef SUFFIX

/* Ways to run tasks. */

static void backwards(void *pool, int64_t count, dpt_task_fn run, void *task)
{
    for (int64_t i = count; i > 0; i--) {
        run(task, i - 1);
    }
    ++*(int *)pool;
}

static void forgetful(void *pool, int64_t count, dpt_task_fn run, void *task)
{
    (void)pool;
    for (int64_t i = 1; i < count; i++) {
        run(task, i);
    }
}

/* Runs as many tasks as there are, with the same sum of indices, but some twice and others never. */
static void confused(void *pool, int64_t count, dpt_task_fn run, void *task)
{
    (void)pool;
    CHECK(count >= 4);
    for (int64_t i = 0; i < count; i++) {
        run(task, i == 0 ? 1 : i == 3 ? 2 : i);
    }
}

/* Also runs indices out of range, which must do nothing. */
static void excessive(void *pool, int64_t count, dpt_task_fn run, void *task)
{
    backwards(pool, count, run, task);
    run(task, -1);
    run(task, count);
    run(task, INT64_MAX);
}

typedef struct share {
    int64_t begin, end;
    dpt_task_fn run;
    void *task;
} share;

static void *run_share(void *argument)
{
    const share *s = argument;
    for (int64_t i = s->begin; i < s->end; i++) {
        s->run(s->task, i);
    }
    return NULL;
}

/* Runs the tasks on two threads and the caller, each with a third of the indices. */
static void with_pthreads(void *pool, int64_t count, dpt_task_fn run, void *task)
{
    pthread_t threads[2];
    share shares[3];
    int started[2];
    for (int t = 0; t < 3; t++) {
        const share s = {count * t / 3, count * (t + 1) / 3, run, task};
        shares[t] = s;
    }
    for (int t = 0; t < 2; t++) {
        started[t] = pthread_create(&threads[t], NULL, run_share, &shares[t]) == 0;
    }
    run_share(&shares[2]);
    for (int t = 0; t < 2; t++) {
        if (started[t]) {
            pthread_join(threads[t], NULL);
        } else {
            run_share(&shares[t]);
        }
    }
    ++*(int *)pool;
}

static void both(const dpt_exec *exec)
{
    same_bits_f32(exec);
    same_bits_f64(exec);
}

static void callbacks(void)
{
    int calls = 0;
    dpt_exec exec = plain_exec();
    exec.pool = &calls;
    exec.parallel_for = backwards;
    exec.max_threads = 1;
    both(&exec);
    CHECK(calls == 0);
    exec.max_threads = 3;
    both(&exec);
    CHECK(calls > 0);
    exec.max_threads = 1000;
    both(&exec);
    exec.parallel_for = excessive;
    both(&exec);
    calls = 0;
    exec.parallel_for = with_pthreads;
    both(&exec);
    CHECK(calls > 0);
    /* The library detects a function that breaks its contract. */
    exec.parallel_for = forgetful;
    STATUS(DPT_INVALID_VALUE, large_fill_f32(&exec));
    CHECK(strstr(dpt_last_error(), "exec->parallel_for") != NULL);
    exec.parallel_for = confused;
    STATUS(DPT_INVALID_VALUE, large_fill_f32(&exec));
}

static void pool(void)
{
    dpt_pool *pool = NULL;
    dpt_exec exec = plain_exec();
    OK(dpt_pool_create(3, &pool));
    OK(dpt_pool_exec(pool, &exec));
    CHECK(exec.max_threads == 3 && exec.parallel_for != NULL);
    both(&exec);
    dpt_pool_destroy(pool);
}

static void *caller(void *argument)
{
    (void)argument;
    /* The text of a failure is visible only on its thread. */
    const char before = dpt_last_error()[0];
    both(NULL);
    return before == '\0' ? NULL : (void *)dpt_last_error();
}

static void many_callers(void)
{
    pthread_t threads[4];
    int started = 0;
    STATUS(DPT_NULL_POINTER, dpt_fill_f32(NULL, 1, 0, NULL));
    while (started < 4 && pthread_create(&threads[started], NULL, caller, NULL) == 0) {
        started++;
    }
    CHECK(started > 0);
    for (int t = 0; t < started; t++) {
        void *text = NULL;
        pthread_join(threads[t], &text);
        CHECK(text == NULL);
    }
}

static void after_fork(void)
{
    const pid_t child = fork();
    if (child == 0) {
        check_failures = 0;
        both(NULL);
        _exit(check_failures > 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
    reference_f32();
    reference_f64();
    callbacks();
    pool();
    many_callers();
    after_fork();
    return check_result("threads");
}
