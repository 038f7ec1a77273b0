/* Template: the maps over rows. */

static void LOCAL(lengths)(void)
{
    /* The rows have the lengths 5 and 10. */
    const T x[4] = {3, -4, 6, 8}, expected[4] = {(T)3 / 5, (T)-4 / 5, (T)6 / 10, (T)8 / 10};
    T out[4] = {-1, -1, -1, -1}, columns[4] = {3, 6, -4, 8};
    OK(FN(normalize)(NULL, 2, 2, x, 2, 1, out, 2, 1));
    for (int i = 0; i < 4; i++) CHECK(out[i] == expected[i]);
    OK(FN(normalize)(NULL, 2, 2, columns, 1, 2, columns, 1, 2));
    for (int i = 0; i < 4; i++) CHECK(columns[i] == expected[i % 2 * 2 + i / 2]);

    const T zeros[2] = {0, 0};
    OK(FN(normalize)(NULL, 1, 2, zeros, 2, 1, out, 2, 1));
    CHECK(isnan(out[0]) && isnan(out[1]));
    OK(FN(normalize)(NULL, 2, 1, zeros, 0, 1, out, 1, 1));
    CHECK(isnan(out[0]) && isnan(out[1]));
    OK(FN(normalize)(NULL, 0, 3, NULL, 3, 1, NULL, 3, 1));
    OK(FN(normalize)(NULL, 3, 0, NULL, 0, 1, NULL, 0, 1));
}

static void LOCAL(row_maps)(void)
{
    LOCAL(lengths)();
}
