/* Template: the maps over rows. */
static void LOCAL(normalized)(void)
{
    const T x[6] = {3, -4, 0, 5, 12, 84}, want[6] = {(T)3 / 5, (T)-4 / 5, 0, (T)5 / 85, (T)12 / 85, (T)84 / 85};
    T out[6] = {7, 7, 7, 7, 7, 7};
    OK(FN(normalize)(NULL, 2, 3, x, 3, 1, out, 3, 1));
    CHECK(memcmp(out, want, sizeof out) == 0);
    /* The columns 3 and 4, -4 and 3, into the rows of the output. */
    const T y[4] = {3, -4, 4, 3}, turned[4] = {(T)3 / 5, (T)4 / 5, (T)-4 / 5, (T)3 / 5};
    OK(FN(normalize)(NULL, 2, 2, y, 1, 2, out, 2, 1));
    CHECK(memcmp(out, turned, sizeof turned) == 0);
    /* In place, backwards. */
    T z[3] = {2, 1, 2};
    OK(FN(normalize)(NULL, 1, 3, z + 2, 0, -1, z + 2, 0, -1));
    CHECK(z[0] == (T)2 / 3 && z[1] == (T)1 / 3 && z[2] == (T)2 / 3);
    OK(FN(normalize)(NULL, 0, 3, NULL, 3, 1, NULL, 3, 1));
    OK(FN(normalize)(NULL, 3, 0, NULL, 0, 1, NULL, 0, 1));
}

/* Rows whose squares overflow or underflow, and such as have no length. */
static void LOCAL(normalized_special)(void)
{
    const T huge = sizeof(T) == 4 ? (T)1e30 : (T)1e300, least = 1 / huge / 1000;
    const T x[10] = {3 * huge, -4 * huge, 3 * least, 4 * least, 0, (T)-0.0, (T)NAN, 1, (T)INFINITY, -2};
    T out[10];
    OK(FN(normalize)(NULL, 5, 2, x, 2, 1, out, 2, 1));
    CHECK(LOCAL(near)(out[0], 0.6, 4) && LOCAL(near)(out[1], -0.8, 4));
    CHECK(LOCAL(near)(out[2], 0.6, 4) && LOCAL(near)(out[3], 0.8, 4));
    for (int i = 4; i < 9; i++) {
        CHECK(isnan(out[i]));
    }
    CHECK(out[9] == 0 && signbit(out[9]));
}

static void LOCAL(row_maps)(void)
{
    LOCAL(normalized)();
    LOCAL(normalized_special)();
}
