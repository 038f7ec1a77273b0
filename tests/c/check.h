/* Checks for the C tests: a failed check is printed and counted, and the program continues. */
#ifndef CHECK_H
#define CHECK_H

#include <diptych.h>
#include <stdio.h>
#include <string.h>

static int check_failures;

#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__, "")

/* Checks that the call returns this status; a failure shows the library's error text. */
#define STATUS(expected, call) check_status((expected), (call), #call, __FILE__, __LINE__)
#define OK(call) STATUS(DPT_OK, call)

static inline void check(int holds, const char *what, const char *file, int line, const char *more)
{
    if (!holds) {
        check_failures++;
        printf("%s:%d: %s%s\n", file, line, what, more);
    }
}

static inline void check_status(dpt_status expected, dpt_status got, const char *what,
                                const char *file, int line)
{
    if (got != expected) {
        check_failures++;
        printf("%s:%d: %s\n  gave %d (%s: \"%s\"), expected %d (%s)\n", file, line, what, (int)got,
               dpt_status_string(got), dpt_last_error(), (int)expected,
               dpt_status_string(expected));
    }
}

static inline int check_result(const char *program)
{
    if (check_failures > 0) {
        printf("%s: %d checks failed\n", program, check_failures);
    }
    return check_failures > 0;
}

static inline dpt_exec plain_exec(void)
{
    dpt_exec exec;
    memset(&exec, 0, sizeof exec);
    exec.struct_size = sizeof exec;
    return exec;
}

#endif
