/* Calls while a library is being loaded: the loader holds its lock during constructors, so a thread that needs the lock
 * waits for them. The arguments are two libraries built from constructor.c. Each scene has a process of its own. */
#define _GNU_SOURCE
#include "../check.h"
#include "loading.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The functions of the first library. */
static struct calls calls;

static void nothing(void)
{
}

/* The function that the next constructor runs. */
static void (*scene)(void) = nothing;

void while_loading(const struct calls *own)
{
    if (calls.alone == NULL) {
        calls = *own;
    }
    scene();
}

static void load(const char *path, void (*what)(void))
{
    scene = what;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL && calls.alone != NULL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        _exit(1);
    }
}

/* The last step that the scene has reached. */
static int step;

static void reach(int next)
{
    __atomic_store_n(&step, next, __ATOMIC_SEQ_CST);
}

static int reached(int wanted)
{
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < 20000 && __atomic_load_n(&step, __ATOMIC_SEQ_CST) < wanted; i++) {
        nanosleep(&pause, NULL);
    }
    return __atomic_load_n(&step, __ATOMIC_SEQ_CST) >= wanted;
}

/* Runs on a thread that has made no call before. */
static void *first_calls(void *unused)
{
    CHECK(reached(1));
    CHECK(calls.failing() == 0);
    CHECK(calls.alone() == 0);
    CHECK(calls.on_pool() == 0);
    reach(2);
    return unused;
}

/* A slow constructor: it continues when another thread has made its first calls. */
static void wait_for_first_calls(void)
{
    reach(1);
    CHECK(reached(2));
}

static void *ask_for_device(void *unused)
{
    reach(1);
    CHECK(calls.device() == 0);
    return unused;
}

static pthread_t asking;

/* Asks for the device while another thread, which started 100 ms earlier, may be opening the driver's library. */
static void ask_too(void)
{
    const struct timespec pause = {0, 100000000};
    CHECK(pthread_create(&asking, NULL, ask_for_device, NULL) == 0);
    CHECK(reached(1));
    nanosleep(&pause, NULL);
    CHECK(calls.device() == 0);
}

static void call_on_pool(void)
{
    CHECK(calls.on_pool() == 0);
}

static void pool(char **libraries)
{
    load(libraries[0], call_on_pool);
}

static void pool_of_another(char **libraries)
{
    load(libraries[0], nothing);
    load(libraries[1], call_on_pool);
}

static void slow(char **libraries)
{
    pthread_t thread;
    load(libraries[0], nothing);
    CHECK(pthread_create(&thread, NULL, first_calls, NULL) == 0);
    load(libraries[1], wait_for_first_calls);
    pthread_join(thread, NULL);
}

static void driver(char **libraries)
{
    load(libraries[0], nothing);
    load(libraries[1], ask_too);
    pthread_join(asking, NULL);
}

static void run(const char *name, void (*what)(char **), char **libraries)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        what(libraries);
        fflush(stdout);
        _exit(check_failures > 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        printf("%s: hangs\n", name);
    } else if (status != 0) {
        printf("%s: status %d\n", name, status);
    }
    CHECK(status == 0);
}

int main(int count, char **arguments)
{
    CHECK(count == 3);
    if (count == 3) {
        run("a pool while its library is loaded", pool, arguments + 1);
        run("a pool while another library is loaded", pool_of_another, arguments + 1);
        run("first calls during a slow constructor", slow, arguments + 1);
        run("two threads look for the driver", driver, arguments + 1);
    }
    return check_result("loading");
}
