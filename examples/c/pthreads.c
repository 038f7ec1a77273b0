/* Diptych on threads of your own: a small pool of pthreads behind dpt_exec.parallel_for.
 *
 *   cc -pthread pthreads.c $(pkg-config --cflags --libs diptych) -o pthreads && ./pthreads
 */
#define _POSIX_C_SOURCE 200809L
#include <diptych.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HELPERS = 3, SIDE = 768, REPEAT = 5 };

/* Threads that wait for tasks. Only one call may use them at a time. */
typedef struct team {
    pthread_mutex_t lock;
    pthread_cond_t work, finished;
    pthread_t threads[HELPERS];
    int helpers, closing;
    /* The current call: its task, the next index to run, the number of indices, and how many have not
     * returned yet. */
    dpt_task_fn run;
    void *task;
    int64_t next, count, left;
} team;

/* Runs tasks until all have started. The caller holds the lock; it is released while a task runs. */
static void run_tasks(team *t)
{
    while (t->next < t->count) {
        const dpt_task_fn run = t->run;
        void *const task = t->task;
        const int64_t index = t->next++;
        pthread_mutex_unlock(&t->lock);
        run(task, index);
        pthread_mutex_lock(&t->lock);
        if (--t->left == 0) {
            pthread_cond_signal(&t->finished);
        }
    }
}

static void *help(void *argument)
{
    team *t = argument;
    pthread_mutex_lock(&t->lock);
    while (!t->closing) {
        run_tasks(t);
        if (!t->closing) {
            pthread_cond_wait(&t->work, &t->lock);
        }
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Called by Diptych: runs tasks 0 .. count - 1 on the helpers and on the calling thread. */
static void with_team(void *pool, int64_t count, dpt_task_fn run, void *task)
{
    team *t = pool;
    pthread_mutex_lock(&t->lock);
    t->run = run;
    t->task = task;
    t->next = 0;
    t->count = t->left = count;
    pthread_cond_broadcast(&t->work);
    run_tasks(t);
    while (t->left > 0) {
        pthread_cond_wait(&t->finished, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

static void start(team *t)
{
    memset(t, 0, sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->work, NULL);
    pthread_cond_init(&t->finished, NULL);
    while (t->helpers < HELPERS &&
           pthread_create(&t->threads[t->helpers], NULL, help, t) == 0) {
        t->helpers++;
    }
}

static void stop(team *t)
{
    pthread_mutex_lock(&t->lock);
    t->closing = 1;
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; i < t->helpers; i++) {
        pthread_join(t->threads[i], NULL);
    }
    pthread_cond_destroy(&t->finished);
    pthread_cond_destroy(&t->work);
    pthread_mutex_destroy(&t->lock);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* C = A B, and the sum of each row of C. */
static dpt_status work(const dpt_exec *exec, const float *a, const float *b, float *c, float *sums)
{
    const dpt_status status =
        dpt_gemm_f32(exec, SIDE, SIDE, SIDE, 1, a, SIDE, 1, b, SIDE, 1, 0, c, SIDE, 1);
    return status != DPT_OK ? status : dpt_sum_rows_f32(exec, SIDE, SIDE, c, SIDE, 1, sums, 1);
}

/* The shortest time of REPEAT runs, in seconds; negative after an error. */
static double best(const dpt_exec *exec, const float *a, const float *b, float *c, float *sums)
{
    double least = 1e9;
    for (int i = 0; i < REPEAT; i++) {
        const double begin = now();
        if (work(exec, a, b, c, sums) != DPT_OK) {
            fprintf(stderr, "%s\n", dpt_last_error());
            return -1;
        }
        const double time = now() - begin;
        least = time < least ? time : least;
    }
    return least;
}

int main(void)
{
    enum { AREA = SIDE * SIDE, RESULTS = AREA + SIDE };
    float *a = malloc(AREA * sizeof *a), *b = malloc(AREA * sizeof *b);
    float *alone = malloc(RESULTS * sizeof *alone), *together = malloc(RESULTS * sizeof *together);
    if (a == NULL || b == NULL || alone == NULL || together == NULL) {
        fprintf(stderr, "out of memory\n");
        return 1;
    }
    for (int i = 0; i < AREA; i++) {
        a[i] = (float)(i % 1013) / 1013 - 0.5f;
        b[i] = (float)(i % 997) / 997 - 0.5f;
    }

    team threads;
    start(&threads);
    dpt_exec exec = {0};
    exec.struct_size = sizeof exec;
    exec.parallel_for = with_team;
    exec.pool = &threads;
    exec.max_threads = threads.helpers + 1;

    const double one = best(NULL, a, b, alone, alone + AREA);
    const double many = best(&exec, a, b, together, together + AREA);
    stop(&threads);
    const int same = memcmp(alone, together, RESULTS * sizeof *alone) == 0;
    printf("one thread: %.3f ms, a team of %d: %.3f ms\n", one * 1e3, (int)exec.max_threads,
           many * 1e3);
    printf("the bits are %s\n", same ? "the same" : "NOT the same");
    free(a);
    free(b);
    free(alone);
    free(together);
    return !(same && one >= 0 && many >= 0);
}
