/* One dpt_exec with many users: tasks that make calls with the exec that runs them, and many threads at once. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "dtype.h"
#include "generated/operations.inc.h"
#include <pthread.h>
#include <stdlib.h>

#define T float
#define SUFFIX _f32
#include "threads.inc.h"
#undef T
#undef SUFFIX

/* The argument of tasks that make all calls once, on the threads of the exec that runs them. CHECK counts without a
 * lock, so the tasks count their successes here. */
typedef struct nested {
    const dpt_exec *exec;
    pthread_mutex_t lock;
    int right;
} nested;

static int computes_the_same(const dpt_exec *exec)
{
    float *out = calloc(RESULTS_f32, sizeof *out);
    int same = 0;
    if (out != NULL) {
        compute_f32(exec, out);
        same = memcmp(out, expected_f32, RESULTS_f32 * sizeof *out) == 0;
    }
    free(out);
    return same;
}

static void one_task(void *task, int64_t index)
{
    nested *n = task;
    (void)index;
    const int same = computes_the_same(n->exec);
    pthread_mutex_lock(&n->lock);
    n->right += same;
    pthread_mutex_unlock(&n->lock);
}

/* Tasks of exec->parallel_for make calls with the same exec. */
static void calls_within_tasks(const dpt_exec *exec)
{
    enum { TASKS = 3 };
    nested n;
    n.exec = exec;
    n.right = 0;
    pthread_mutex_init(&n.lock, NULL);
    exec->parallel_for(exec->pool, TASKS, one_task, &n);
    CHECK(n.right == TASKS);
    pthread_mutex_destroy(&n.lock);
}

static void *caller(void *exec)
{
    return computes_the_same(exec) ? exec : NULL;
}

static void many_callers(dpt_exec *exec)
{
    pthread_t threads[2];
    int started = 0;
    while (started < 2 && pthread_create(&threads[started], NULL, caller, exec) == 0) {
        started++;
    }
    CHECK(started > 0);
    for (int t = 0; t < started; t++) {
        void *right = NULL;
        pthread_join(threads[t], &right);
        CHECK(right != NULL);
    }
}

/* A task on a thread of its own. */
typedef struct single {
    dpt_task_fn run;
    void *task;
    int64_t index;
} single;

static void *run_single(void *argument)
{
    const single *s = argument;
    s->run(s->task, s->index);
    return NULL;
}

/* The largest number of tasks of one call. */
static int64_t most;

/* Runs each task on a thread of its own, and updates `most`. */
static void thread_each(void *pool, int64_t count, dpt_task_fn run, void *task)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    single tasks[MOST];
    int started[MOST];
    (void)pool;
    if (count > most) {
        most = count;
    }
    for (int64_t i = 0; i < count && i < MOST; i++) {
        const single s = {run, task, i};
        tasks[i] = s;
        started[i] = pthread_create(&threads[i], NULL, run_single, &tasks[i]) == 0;
    }
    for (int64_t i = 0; i < count; i++) {
        if (i < MOST && started[i]) {
            pthread_join(threads[i], NULL);
        } else {
            run(task, i);
        }
    }
}

static void max_threads(void)
{
    dpt_exec exec = plain_exec();
    exec.parallel_for = thread_each;
    for (exec.max_threads = 2; exec.max_threads <= 5; exec.max_threads += 3) {
        most = 0;
        same_bits_f32(&exec);
        CHECK(most > 1 && most <= exec.max_threads);
    }
}

int main(void)
{
    dpt_pool *pool = NULL;
    dpt_exec exec = plain_exec();
    reference_f32();
    OK(dpt_pool_create(3, &pool));
    OK(dpt_pool_exec(pool, &exec));
    calls_within_tasks(&exec);
    many_callers(&exec);
    max_threads();
    dpt_pool_destroy(pool);
    return check_result("shared");
}
