/* Diptych in C: a product, a reduction, an error, threads.
 *
 *   cc quickstart.c $(pkg-config --cflags --libs diptych) -o quickstart && ./quickstart
 */
#include <diptych.h>
#include <stdio.h>

int main(void)
{
    /* C = 1 * A B + 0 * C. Row-major: the stride from row to row is the number of columns. */
    const float a[2 * 3] = {1, 2, 3, 4, 5, 6};
    const float b[3 * 2] = {7, 8, 9, 10, 11, 12};
    float c[2 * 2];
    if (dpt_gemm_f32(NULL, 2, 2, 3, 1.0f, a, 3, 1, b, 2, 1, 0.0f, c, 2, 1) != DPT_OK) {
        fprintf(stderr, "%s\n", dpt_last_error());
        return 1;
    }
    printf("A B   = [%g %g; %g %g] on level %s\n", c[0], c[1], c[2], c[3], dpt_cpu_level());

    /* The sum of each column of A: the same call as for rows, with the strides exchanged. */
    float sums[3];
    dpt_sum_rows_f32(NULL, 3, 2, a, 1, 3, sums, 1);
    printf("sums  = [%g %g %g]\n", sums[0], sums[1], sums[2]);

    /* Errors are status codes with a message; nothing has been written. */
    const dpt_status status = dpt_clamp_f32(NULL, 4, NULL, 0.0f, 1.0f, c);
    printf("error = %s (%s)\n", dpt_status_string(status), dpt_last_error());

    /* Four threads for calls that are large enough; the result has the same bits without them. */
    dpt_pool *pool = NULL;
    dpt_exec exec = {0};
    exec.struct_size = sizeof exec;
    if (dpt_pool_create(4, &pool) == DPT_OK && dpt_pool_exec(pool, &exec) == DPT_OK) {
        dpt_scale_f32(&exec, 4, 0.5f, c, c); /* exactly in place */
        printf("A B/2 = [%g %g; %g %g]\n", c[0], c[1], c[2], c[3]);
    }
    dpt_pool_destroy(pool);
    return 0;
}
