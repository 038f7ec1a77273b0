// Tests of the interpreter: small PTX kernels with known results. The expected values are written by hand, or follow
// from IEEE 754 and the text of the PTX manual.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
typedef uint32_t u32;
typedef uint64_t u64;
extern "C" {
int cuInit(unsigned);
int cuModuleLoadDataEx(void **, const void *, unsigned, int *, void **);
int cuModuleGetFunction(void **, void *, const char *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                   void **);
int cuMemcpyAsync(u64, u64, size_t, void *);
int cuMemFree_v2(u64);
u64 ptxsim_alloc(u64, u64);
int ptxsim_readonly(u64, int);
int ptxsim_take_fault(char *, int);
void ptxsim_schedule(int);
void ptxsim_seed(u64);
}
static int bad = 0, good = 0;
static void expect(bool ok, const std::string &what) {
    if (ok) good++;
    else bad++, printf("WRONG: %s\n", what.c_str());
}
static void *load(const std::string &body, const std::string &params) {
    std::string text =
        ".version 6.3\n.target sm_75\n.address_size 64\n.extern .shared .align 16 .b8 dynamic_shared[];\n"
        ".visible .entry k(\n" +
        params +
        "\n)\n.maxntid 256, 1, 1\n{\n.reg .pred %p<20>;\n.reg .b16 %rs<20>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n" +
        body + "\nret;\n}\n";
    void *m = nullptr, *f = nullptr;
    if (cuModuleLoadDataEx(&m, text.c_str(), 0, nullptr, nullptr) || cuModuleGetFunction(&f, m, "k")) {
        printf("does not load:\n%s\n", text.c_str());
        bad++;
        return nullptr;
    }
    return f;
}
static std::string take_faults() {
    char t[1000];
    std::string all;
    while (ptxsim_take_fault(t, sizeof t)) all += std::string(t) + "\n";
    return all;
}
static int launch(void *f, unsigned blocks, unsigned threads, unsigned shared, std::vector<void *> args) {
    return f ? cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, shared, nullptr, args.data(), nullptr) : -1;
}

static u64 f(float x) {
    u32 y;
    memcpy(&y, &x, 4);
    return y;
}
static u64 d(double x) {
    u64 y;
    memcpy(&y, &x, 8);
    return y;
}

// Checks the result of one instruction on the values a, b, c. `widths` are those of d, a, b, c, as in VALUES.
static void one(const char *op, const char *widths, u64 a, u64 b, u64 c, u64 want) {
    std::string body =
        "ld.param.b64 %rd1, [o];\nld.param.b64 %rd2, [a];\nld.param.b64 %rd3, [b];\nld.param.b64 %rd4, [c];\n";
    std::string operands;
    for (int n = 1; n < 4; n++) {
        char w = widths[n];
        if (w == '0') continue;
        std::string i = std::to_string(n + 1);
        if (w == '6') operands += ", %rd" + i;
        else {
            body += "cvt.u32.u64 %r" + i + ", %rd" + i + ";\n";
            if (w == '3') operands += ", %r" + i;
            if (w == '1') body += "cvt.u16.u32 %rs" + i + ", %r" + i + ";\n", operands += ", %rs" + i;
            if (w == 'p') body += "setp.ne.b32 %p" + i + ", %r" + i + ", 0;\n", operands += ", %p" + i;
        }
    }
    std::string dest = widths[0] == '6' ? "%rd10" : widths[0] == '3' ? "%r10" : widths[0] == '1' ? "%rs10" : "%p10";
    body += std::string(op) + " \t" + dest + operands + ";\n";
    if (widths[0] == '3') body += "cvt.u64.u32 %rd10, %r10;\n";
    if (widths[0] == '1') body += "mul.wide.u16 %r11, %rs10, 1;\ncvt.u64.u32 %rd10, %r11;\n";
    if (widths[0] == 'p') body += "selp.b64 %rd10, 1, 0, %p10;\n";
    body += "cvta.to.global.u64 %rd20, %rd1;\nst.global.b64 [%rd20], %rd10;\n";
    void *k = load(body, ".param .u64 .ptr .align 1 o,\n.param .u64 a,\n.param .u64 b,\n.param .u64 c");
    u64 o = ptxsim_alloc(8, 0), got = 0;
    launch(k, 1, 32, 0, {&o, &a, &b, &c});
    std::string faults = take_faults(); // 32 threads write the same word: races are expected
    cuMemcpyAsync((u64)&got, o, 8, nullptr);
    char t[300];
    snprintf(t, sizeof t, "%s %llx %llx %llx gives %llx, not %llx", op, (unsigned long long)a, (unsigned long long)b,
             (unsigned long long)c, (unsigned long long)got, (unsigned long long)want);
    expect(got == want, t);
    cuMemFree_v2(o);
}

// Integers.
static void integers() {
    one("add.s32", "3330", 0xFFFFFFFF, 1, 0, 0);
    one("add.s64", "6660", ~0ull, 2, 0, 1);
    one("sub.s32", "3330", 0, 1, 0, 0xFFFFFFFF);
    one("mul.lo.s32", "3330", 0x10001, 0x10001, 0, 0x20001);
    one("mul.lo.s64", "6660", 0xFFFFFFFFFFFFFFFF, 3, 0, 0xFFFFFFFFFFFFFFFD);
    one("mul.wide.u32", "6330", 0xFFFFFFFF, 0xFFFFFFFF, 0, 0xFFFFFFFE00000001);
    one("mul.wide.u16", "3110", 0xFFFF, 0xFFFF, 0, 0xFFFE0001);
    one("mad.lo.s32", "3333", 0xFFFFFFFF, 5, 7, 2);
    one("mad.lo.s64", "6666", 1ull << 63, 2, 9, 9);
    one("neg.s32", "3300", 1, 0, 0, 0xFFFFFFFF);
    one("min.u32", "3330", 0xFFFFFFFF, 1, 0, 1);
    one("max.u32", "3330", 0xFFFFFFFF, 1, 0, 0xFFFFFFFF);
    one("min.u64", "6660", 1ull << 63, 7, 0, 7);
    one("max.u64", "6660", 1ull << 63, 7, 0, 1ull << 63);
    one("abs.s64", "6600", ~0ull, 0, 0, 1);
    one("and.b16", "1110", 0xF0F0, 0x1FFF, 0, 0x10F0);
    one("setp.lt.u16", "p110", 1, 0xFFFF, 0, 1);
    one("setp.gt.u16", "p110", 1, 0xFFFF, 0, 0);
    one("not.b32", "3300", 0xF0F0F0F0, 0, 0, 0x0F0F0F0F);
    one("not.pred", "pp00", 1, 0, 0, 0);
    one("and.pred", "ppp0", 1, 0, 0, 0);
    one("or.pred", "ppp0", 1, 0, 0, 1);
}

// Conversions from floats to integers.
static void truncations() {
    one("cvt.rzi.s64.f64", "6600", d(-1.9), 0, 0, ~0ull);
    one("cvt.rzi.s64.f64", "6600", d(1e30), 0, 0, ~0ull >> 1);
    one("cvt.rzi.s64.f64", "6600", d(-1e30), 0, 0, 1ull << 63);
    one("cvt.rzi.u64.f64", "6600", d(0x1p63), 0, 0, 1ull << 63);
    one("cvt.rzi.u64.f64", "6600", d(-3), 0, 0, 0);
    one("cvt.rzi.u64.f64", "6600", d(1e30), 0, 0, ~0ull);
}

// Products of bytes, conversions from 16 bits, and fields with a sign.
static void small_types() {
    one("cvt.f32.f16", "3100", 0x3C00, 0, 0, f(1));
    one("cvt.f32.f16", "3100", 0xFBFF, 0, 0, f(-65504));
    one("cvt.f32.f16", "3100", 0x8001, 0, 0, f(-0x1p-24f));
    one("cvt.f32.f16", "3100", 0x03FF, 0, 0, f(1023 * 0x1p-24f));
    one("cvt.f32.f16", "3100", 0xFC00, 0, 0, f(-INFINITY));
    one("cvt.f32.f16", "3100", 0x7C01, 0, 0, 0x7FFFFFFF);
    one("cvt.f32.f16", "3100", 0x8000, 0, 0, 0x80000000);
    one("dp4a.s32.s32", "3333", 0x80FF0102, 0x807F02FE, 5, 16384 - 127 + 2 - 4 + 5);
    one("dp4a.u32.s32", "3333", 0x80FF0102, 0x807F02FE, 5, (u32)(-16384 + 255 * 127 + 2 - 4 + 5));
    one("dp4a.s32.s32", "3333", 0x7F7F7F7F, 0x7F7F7F7F, 0x7FFFFFFF, 0x7FFFFFFFu + 4 * 16129);
    one("bfe.s32", "3333", 0x00000400, 10, 1, 0xFFFFFFFF);
    one("bfe.s32", "3333", 0xFFFFFBFF, 10, 1, 0);
    one("bfe.s32", "3333", 0x00000F00, 8, 8, 15);
    one("bfe.s32", "3333", 0x80000000, 28, 8, 0xFFFFFFF8);
    one("bfe.s32", "3333", 0x80000000, 0, 32, 0x80000000);
    one("bfe.s32", "3333", 0x12345678, 4, 0, 0);
}

// Shifts by the width or more give 0: the amount is clamped, not reduced modulo the width. Also bit fields, conversions
// and comparisons of integers.
static void shifts() {
    one("shl.b32", "3330", 1, 31, 0, 0x80000000);
    one("shl.b32", "3330", 1, 32, 0, 0);
    one("shl.b32", "3330", 1, 0xFFFFFFFF, 0, 0);
    one("shl.b64", "6630", 1, 63, 0, 1ull << 63);
    one("shl.b64", "6630", 1, 64, 0, 0);
    one("shr.u32", "3330", 0x80000000, 31, 0, 1);
    one("shr.u32", "3330", 0x80000000, 33, 0, 0);
    one("shr.u64", "6630", 1ull << 63, 63, 0, 1);
    one("shr.u64", "6630", 1ull << 63, 65, 0, 0);
    one("shr.u16", "1130", 0x8000, 15, 0, 1);
    one("shr.u16", "1130", 0x8000, 16, 0, 0);
    one("bfe.u32", "3333", 0x12345678, 8, 8, 0x56);
    one("bfe.u32", "3333", 0xFFFFFFFF, 30, 8, 3);
    one("bfe.u32", "3333", 0xFFFFFFFF, 3, 0, 0);
    one("bfe.u32", "3333", 0xFFFFFFFF, 32, 8, 0);
    one("bfe.u32", "3333", 0xFF800000, 23, 8, 0xFF);
    one("clz.b32", "3300", 0, 0, 0, 32);
    one("clz.b32", "3300", 0x00010000, 0, 0, 15);
    one("popc.b32", "3300", 0xF00F0001, 0, 0, 9);
    one("div.u32", "3330", 0xFFFFFFFF, 10, 0, 429496729);
    one("div.u64", "6660", ~0ull, 10, 0, 1844674407370955161ull);
    one("selp.b32", "333p", 5, 6, 1, 5);
    one("selp.b32", "333p", 5, 6, 0, 6);
    one("selp.f64", "666p", 5, 6, 0, 6);
    one("cvt.u32.u64", "3600", 0x1234567890ABCDEF, 0, 0, 0x90ABCDEF);
    one("cvt.u64.u32", "6300", 0xFFFFFFFF, 0, 0, 0xFFFFFFFF);
    one("cvt.u16.u32", "1300", 0x12345678, 0, 0, 0x5678);
    one("setp.lt.s32", "p330", 0xFFFFFFFF, 0, 0, 1);
    one("setp.lt.u32", "p330", 0xFFFFFFFF, 0, 0, 0);
    one("setp.gt.s64", "p660", ~0ull, 0, 0, 0);
    one("setp.gt.u64", "p660", ~0ull, 0, 0, 1);
    one("setp.ge.u64", "p660", 3, 3, 0, 1);
    one("setp.le.u64", "p660", 3, 2, 0, 0);
    one("setp.lt.s64", "p660", 1ull << 63, 0, 0, 1);
}

// Floats: rounding, subnormals, signs of zero, NaN.
static void floats() {
    const float inf = INFINITY;
    const double dinf = INFINITY;
    one("add.rn.f32", "3330", f(16777216), f(1), 0, f(16777216)); // a tie to even
    one("add.rn.f32", "3330", f(16777218), f(1), 0, f(16777220)); // a tie to even, up
    one("add.rn.f32", "3330", 1, 1, 0, 2);                        // subnormal numbers stay
    one("add.rn.f32", "3330", f(inf), f(-inf), 0, 0x7FFFFFFF);
    one("add.rn.f32", "3330", 0x7FC12345, f(1), 0, 0x7FFFFFFF);
    one("add.rn.f32", "3330", 0x80000000, 0x80000000, 0, 0x80000000);
    one("sub.rn.f32", "3330", f(1), f(1), 0, 0);
    one("mul.rn.f32", "3330", 0x00800000, f(0.5f), 0, 0x00400000); // into the subnormals
    one("mul.rn.f32", "3330", 3, f(0.5f), 0, 2);                   // tie to even there
    one("mul.rn.f32", "3330", 0x80000001, f(0.25f), 0, 0x80000000);
    one("mul.rn.f32", "3330", f(inf), f(0), 0, 0x7FFFFFFF);
    // (1 + 2^-23)^2 - (1 + 2^-22) = 2^-46 with one rounding, 0 with two.
    one("fma.rn.f32", "3333", 0x3F800001, 0x3F800001, 0xBF800002, 0x28800000);
    one("fma.rn.f32", "3333", f(1e38f), f(1e38f), f(-inf), f(-inf)); // no overflow between
    one("fma.rn.f32", "3333", 1, f(0.5f), 0, 0);                     // half of the smallest: to even
    one("fma.rn.f32", "3333", f(-1), f(1), f(1), 0);
    one("fma.rn.f32", "3333", f(-0.0f), f(1), f(-0.0f), 0x80000000);
    one("fma.rn.f32", "3333", f(inf), f(0), f(1), 0x7FFFFFFF);
    one("fma.rn.f64", "6666", d(1 + 0x1p-52), d(1 + 0x1p-52), d(-(1 + 0x1p-51)), d(0x1p-104));
    one("fma.rn.f64", "6666", d(0x1p-1074), d(0.5), d(0x1p-1074), d(0x1p-1073));   // 1.5 of the smallest: to even
    one("fma.rn.f64", "6666", d(1), d(1), 0x7FF0000000001234, 0x7FF8000000001234); // payloads stay, made quiet
    one("add.rn.f64", "6660", 0x7FF8000000000000, 0x7FF8000000000000, 0, 0x7FF8000000000000);
    one("div.rn.f32", "3330", f(1), f(3), 0, 0x3EAAAAAB);
    one("div.rn.f32", "3330", f(1), f(-0.0f), 0, f(-inf));
    one("div.rn.f32", "3330", f(0), f(0), 0, 0x7FFFFFFF);
    one("div.rn.f32", "3330", 0x00000003, f(2), 0, 2);
    one("div.rn.f64", "6660", d(1), d(3), 0, 0x3FD5555555555555);
    one("rcp.rn.f64", "6600", d(3), 0, 0, 0x3FD5555555555555);
    one("rcp.rn.f64", "6600", d(-0.0), 0, 0, d(-dinf));
    one("sqrt.rn.f32", "3300", f(2), 0, 0, 0x3FB504F3);
    one("sqrt.rn.f32", "3300", 0x80000000, 0, 0, 0x80000000);
    one("sqrt.rn.f32", "3300", f(-1), 0, 0, 0x7FFFFFFF);
    one("sqrt.rn.f64", "6600", d(2), 0, 0, 0x3FF6A09E667F3BCD);
    one("abs.f32", "3300", 0x80000000, 0, 0, 0);
    one("abs.f64", "6600", d(-dinf), 0, 0, d(dinf));
    one("neg.f64", "6600", 0, 0, 0, 1ull << 63);
    one("cvt.rn.f32.u64", "3600", 0xFFFFFFFFFFFFFFFF, 0, 0, f(18446744073709551616.0f));
    one("cvt.rn.f32.u64", "3600", 16777217, 0, 0, f(16777216));
    one("cvt.rn.f32.u64", "3600", (1ull << 40) + (1ull << 16) + 1, 0, 0, 0x53800001); // above a tie
    one("cvt.rn.f32.u64", "3600", 0x8000008000000001ull, 0, 0, 0x5F000001);           // two roundings would give ..00
    one("cvt.rn.f64.u64", "6600", (1ull << 53) + 1, 0, 0, d(9007199254740992.0));
    one("cvt.rn.f64.u64", "6600", ~0ull, 0, 0, d(18446744073709551616.0));
    one("cvt.rn.f64.s32", "6300", 0xFFFFFFFF, 0, 0, d(-1));
    one("cvt.rn.f32.f64", "3600", d(1 + 0x1p-24), 0, 0, f(1));
    one("cvt.rn.f32.f64", "3600", d(1 + 0x1p-24 + 0x1p-50), 0, 0, 0x3F800001);
    one("cvt.rn.f32.f64", "3600", d(1e300), 0, 0, f(inf));
    one("cvt.rn.f32.f64", "3600", d(0x1p-149), 0, 0, 1);
    one("cvt.f64.f32", "6300", 1, 0, 0, d(0x1p-149));
    one("cvt.rn.f16.f32", "1300", f(1 + 0x1p-11f), 0, 0, 0x3C00);        // a tie
    one("cvt.rn.f16.f32", "1300", f(1 + 0x1.8p-10f), 0, 0, 0x3C02);      // a tie, to even
    one("cvt.rn.f16.f32", "1300", f(-0x1.ffep-15f), 0, 0, 0x8400);       // to the smallest normal number
    one("cvt.rn.f16.f32", "1300", f(0x1p-25f), 0, 0, 0);
    one("cvt.rn.f16.f32", "1300", f(-0.0f), 0, 0, 0x8000);
    one("cvt.rn.f16.f32", "1300", f(0x1.000002p-25f), 0, 0, 1);
    one("cvt.rn.f16.f32", "1300", f(65519), 0, 0, 0x7BFF);
    one("cvt.rn.f16.f32", "1300", f(65520), 0, 0, 0x7C00);
    one("cvt.rn.f16.f32", "1300", 0xFFC00001, 0, 0, 0x7FFF);
    one("mov.b32", "3300", 0x7F812345, 0, 0, 0x7F812345); // a signalling NaN stays
}

// Comparisons: ordered ones are false with a NaN, the unordered ones true.
static void comparisons() {
    const float inf = INFINITY, nan = NAN;
    const double dnan = NAN;
    one("setp.eq.f32", "p330", 0, 0x80000000, 0, 1);
    one("setp.eq.f32", "p330", f(nan), f(nan), 0, 0);
    one("setp.ne.f32", "p330", f(nan), f(1), 0, 0);
    one("setp.neu.f32", "p330", f(nan), f(nan), 0, 1);
    one("setp.neu.f32", "p330", f(1), f(1), 0, 0);
    one("setp.neu.f32", "p330", f(1), f(2), 0, 1);
    one("setp.lt.f32", "p330", f(nan), f(1), 0, 0);
    one("setp.ge.f32", "p330", f(1), f(nan), 0, 0);
    one("setp.geu.f32", "p330", f(1), f(nan), 0, 1);
    one("setp.geu.f32", "p330", f(1), f(2), 0, 0);
    one("setp.num.f32", "p330", f(1), f(inf), 0, 1);
    one("setp.num.f32", "p330", f(1), f(nan), 0, 0);
    one("setp.nan.f32", "p330", f(nan), f(1), 0, 1);
    one("setp.nan.f64", "p660", d(1), d(1), 0, 0);
    one("setp.nan.f64", "p660", d(1), d(dnan), 0, 1);
    one("setp.lt.f32", "p330", 0x80000001, 0x00000000, 0, 1);
    one("setp.gt.f64", "p660", d(2), d(1), 0, 1);
    one("setp.le.f64", "p660", d(1), d(1), 0, 1);
    one("setp.neu.f64", "p660", d(0.0), d(-0.0), 0, 0);
}

// Kernels with an output and an input: their parameters, and the code with which each thread computes its addresses.
static const std::string pair = ".param .u64 .ptr .align 1 o,\n.param .u64 .ptr .align 1 i";
static const std::string begin = "ld.param.b64 %rd1, [o];\nld.param.b64 %rd2, [i];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, "
                                 "%ctaid.x;\nmov.u32 %r3, %ntid.x;\n"
                                 "mad.lo.s32 %r4, %r2, %r3, %r1;\nmul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd2, "
                                 "%rd3;\nadd.s64 %rd5, %rd1, %rd3;\n";

// Checks the result, or the fault, under each schedule.
static void run(const char *what, const std::string &body, unsigned blocks, unsigned threads, unsigned shared,
                std::vector<u32> in, std::vector<u32> want, const char *fault) {
    void *k = load(begin + body, pair);
    for (int schedule = 0; schedule < 4; schedule++) {
        ptxsim_schedule(schedule);
        u64 o = ptxsim_alloc(want.size() * 4, 0), i = ptxsim_alloc(in.size() * 4, 0);
        cuMemcpyAsync(i, (u64)in.data(), in.size() * 4, nullptr);
        ptxsim_readonly(i, 1);
        std::vector<u32> got(want.size());
        cuMemcpyAsync(o, (u64)got.data(), got.size() * 4, nullptr);
        launch(k, blocks, threads, shared, {&o, &i});
        std::string f = take_faults();
        cuMemcpyAsync((u64)got.data(), o, got.size() * 4, nullptr);
        std::string w = std::string(what) + ", schedule " + std::to_string(schedule);
        if (fault) expect(f.find(fault) != std::string::npos, w + ": no fault '" + fault + "' but '" + f + "'");
        else expect(f.empty() && got == want, w + ": " + f);
        cuMemFree_v2(o), cuMemFree_v2(i);
    }
    ptxsim_schedule(2);
}

template <class G> static std::vector<u32> numbers(unsigned n, G g) {
    std::vector<u32> v;
    for (u32 i = 0; i < n; i++) v.push_back(g(i));
    return v;
}
static const auto same = numbers(256, [](u32 i) { return i * 3 + 1; });

// Accesses to memory, and barriers between accesses to shared memory.
static void memory() {
    run("shuffle", "ld.global.b32 %r5, [%rd4];\nshfl.sync.bfly.b32 %r6, %r5, 5, 31, -1;\nst.global.b32 [%rd5], %r6;", 2,
        128, 0, same, numbers(256, [](u32 i) { return (i ^ 5) * 3 + 1; }), nullptr);
    const std::string share = "ld.global.b32 %r5, [%rd4];\nmov.u32 %r6, dynamic_shared;\nmul.lo.s32 %r7, %r1, "
                              "4;\nadd.s32 %r8, %r6, %r7;\nst.shared.f32 [%r8], %r5;\n";
    const std::string back = "sub.s32 %r9, %r3, %r1;\nmad.lo.s32 %r10, %r9, 4, %r6;\nld.shared.f32 %r11, "
                             "[%r10+-4];\nst.global.b32 [%rd5], %r11;";
    run("shared, barrier", share + "bar.sync 0;\n" + back, 2, 128, 512, same,
        numbers(256, [](u32 i) { return ((i & ~127u) + 127 - (i & 127)) * 3 + 1; }), nullptr);
    run("no barrier", share + back, 2, 128, 512, same, same, "RACE");
    const std::string neighbour = "xor.b32 %r9, %r1, 31;\nmad.lo.s32 %r10, %r9, 4, %r6;\nld.shared.f32 %r11, [%r10];\n"
                                  "st.global.b32 [%rd5], %r11;";
    const std::string warp_barrier = "bar.warp.sync -1;\n", again = warp_barrier + "st.shared.f32 [%r8], %r5;\n";
    run("shared, barrier of a warp", share + warp_barrier + neighbour + again, 2, 128, 512, same,
        numbers(256, [](u32 i) { return (i ^ 31) * 3 + 1; }), nullptr);
    run("no barrier of a warp", share + neighbour, 2, 128, 512, same, same, "RACE");
    run("barrier of a warp, other warps", share + warp_barrier + back, 2, 128, 512, same, same, "RACE");
    run("write without a barrier of a warp", share + warp_barrier + neighbour + "st.shared.f32 [%r8], %r5;\n", 2, 128,
        512, same, same, "RACE");
    run("shared too small", share, 2, 128, 508, same, same, "out of bounds");
    run("vectors",
        "setp.ge.u32 %p1, %r4, 64;\n@%p1 bra $E;\nmul.wide.u32 %rd6, %r4, 16;\nadd.s64 %rd7, %rd2, %rd6;\nadd.s64 "
        "%rd8, %rd1, %rd6;\nld.global.v4.f32 {%r5,%r6,%r7,%r8}, [%rd7];\nst.global.v2.f32 [%rd8+8], "
        "{%r5,%r6};\nst.global.v2.f32 [%rd8], {%r7,%r8};\n$E:",
        1, 256, 0, same, numbers(256, [](u32 i) { return (i ^ 2) * 3 + 1; }), nullptr);
    run("misaligned vector",
        "mul.wide.u32 %rd6, %r4, 4;\nadd.s64 %rd7, %rd2, %rd6;\nld.global.v4.f32 {%r5,%r6,%r7,%r8}, [%rd7];", 1, 64, 0,
        same, same, "misaligned");
    run("behind the end", "st.global.b32 [%rd5+4], %r1;", 1, 256, 0, same, same, "out of bounds");
    run("before the start", "ld.global.b32 %r6, [%rd4+-4];", 1, 256, 0, same, same, "out of bounds");
    run("an input", "st.global.b32 [%rd4], %r1;", 1, 256, 0, same, same, "store into an input");
    run("halves",
        "{ .reg .b32 tmp; mov.b64 {tmp, %r5}, %rd1; }\nmov.b64 {%r6, _}, %rd1;\nmov.b64 %rd9, {%r6, %r5};\nadd.s64 "
        "%rd10, %rd9, %rd3;\nld.global.b32 %r7, [%rd4];\nst.global.b32 [%rd10], %r7;",
        1, 256, 0, same, same, nullptr);
    run("guards",
        "and.b32 %r5, %r1, 1;\nsetp.eq.b32 %p1, %r5, 0;\nmov.b32 %r6, 7;\n@!%p1 bra $A;\nmov.b32 %r6, 9;\n$A:\n@%p1 "
        "bra $B;\nadd.s32 %r6, %r6, 1;\n$B:\nst.global.b32 [%rd5], %r6;",
        1, 256, 0, same, numbers(256, [](u32 i) { return i % 2 ? 8 : 9; }), nullptr);
}

// Barriers and shuffles that not all threads reach, and a race between blocks.
static void divergence() {
    run("divergent shuffle",
        "setp.eq.b32 %p1, %r1, 3;\n@%p1 bra $A;\nshfl.sync.bfly.b32 %r6, %r1, 1, 31, -1;\n$A:\nst.global.b32 [%rd5], "
        "%r1;",
        1, 64, 0, same, same, "deadlock");
    run("divergent barrier of a warp",
        "setp.eq.b32 %p1, %r1, 3;\n@%p1 bra $A;\nbar.warp.sync -1;\n$A:\nst.global.b32 [%rd5], %r1;", 1, 64, 0, same,
        same, "deadlock");
    run("divergent barrier", "setp.eq.b32 %p1, %r1, 3;\n@%p1 bra $A;\nbar.sync 0;\n$A:\nst.global.b32 [%rd5], %r1;", 1,
        64, 0, same, same, "deadlock");
    run("two barriers",
        "setp.eq.b32 %p1, %r1, 3;\n@%p1 bra $A;\nbar.sync 0;\nbra.uni $B;\n$A:\nbar.sync 0;\n$B:\nst.global.b32 "
        "[%rd5], %r1;",
        1, 64, 0, same, same, "different barriers");
    run("blocks race", "mul.wide.u32 %rd6, %r1, 4;\nadd.s64 %rd7, %rd1, %rd6;\nst.global.b32 [%rd7], %r2;", 4, 64, 0,
        same, same, "RACE");
}

// Each block writes a word, and the last one adds all of them: o[0..4] are the words, o[8] the counter, o[9] the sum.
static void last_block() {
    const std::string last = "setp.ne.b32 %p1, %r1, 0;\n@%p1 bra $E;\nmul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd7, %rd1, "
                             "%rd6;\nadd.s32 %r5, %r2, 1;\nst.global.b32 [%rd7], %r5;\n";
    const std::string count = "mov.b32 %r6, 3;\natom.acq_rel.gpu.global.inc.u32 %r7, [%rd1+32], %r6;\nsetp.ne.b32 %p2, "
                              "%r7, 3;\n@%p2 bra $E;\n";
    const std::string none = "mov.b32 %r7, 3;\n";
    auto add = [](const char *l) {
        std::string s;
        for (int n = 0; n < 4; n++)
            s += std::string(l) + " %r" + std::to_string(10 + n) + ", [%rd1+" + std::to_string(4 * n) + "];\n";
        return s + "add.s32 %r14, %r10, %r11;\nadd.s32 %r14, %r14, %r12;\nadd.s32 %r14, %r14, %r13;\nst.global.b32 "
                   "[%rd1+36], %r14;\n$E:";
    };
    run("the last block", last + count + add("ld.relaxed.gpu.global.f32"), 4, 64, 0, same,
        {1, 2, 3, 4, 0, 0, 0, 0, 0, 10}, nullptr);
    run("the last block, weak", last + count + add("ld.global.f32"), 4, 64, 0, same, {1, 2, 3, 4, 0, 0, 0, 0, 0, 10},
        "the load is weak");
    run("no last block", last + none + add("ld.relaxed.gpu.global.f32"), 4, 64, 0, same,
        {1, 2, 3, 4, 0, 0, 0, 0, 0, 10}, "RACE");
}

// Modules that must be refused.
static void refused() {
    void *m;
    expect(cuModuleLoadDataEx(&m,
                              ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry k(\n.param .u64 "
                              "a\n)\n{\n.reg .b32 %r<3>;\nmin.f32 %r1, %r1, %r2;\nret;\n}\n",
                              0, nullptr, nullptr) == 218,
           "an unknown instruction loads");
    expect(cuModuleLoadDataEx(&m,
                              ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry k(\n.param .u64 "
                              "a\n)\n{\n.reg .b64 %rd<3>;\nadd.s32 %rd1, %rd1, %rd2;\nret;\n}\n",
                              0, nullptr, nullptr) == 218,
           "a wrong width loads");
}

int main() {
    setenv("PTXSIM_VERBOSE", "0", 1);
    cuInit(0);
    integers(), truncations(), small_types(), shifts(), floats(), comparisons();
    memory(), divergence(), last_block(), refused();
    printf("%d right, %d wrong\n", good, bad);
    return bad != 0;
}
