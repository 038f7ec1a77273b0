/* A user's program, which is built with pkg-config and with CMake. */
#include <diptych.h>
#include <stdio.h>

int main(void)
{
    const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 0, 1, 1, 1};
    float c[4];
    if (dpt_gemm_f32(NULL, 2, 2, 3, 1.0f, a, 3, 1, b, 2, 1, 0.0f, c, 2, 1) != DPT_OK) {
        printf("%s\n", dpt_last_error());
        return 1;
    }
    printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
    return !(c[0] == 4 && c[1] == 5 && c[2] == 10 && c[3] == 11);
}
