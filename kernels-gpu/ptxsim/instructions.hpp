// The instructions that the interpreter knows, and the representation of kernels.
#pragma once
#include "memory.hpp"
// Values of registers are held as 64 bits, zero-extended from their width.
#define F(x) as_f32(x)
#define D(x) as_f64(x)
static inline float as_f32(u64 x) {
    u32 y = (u32)x;
    float f;
    memcpy(&f, &y, 4);
    return f;
}
static inline double as_f64(u64 x) {
    double f;
    memcpy(&f, &x, 8);
    return f;
}
static inline u64 raw32(float f) {
    u32 y;
    memcpy(&y, &f, 4);
    return y;
}
static inline u64 raw64(double f) {
    u64 y;
    memcpy(&y, &f, 8);
    return y;
}
// NaN results. The PTX manual: "single-precision instructions produce an unspecified NaN" (all GPUs so far:
// 0x7fffffff); "NaN payloads are supported for double-precision instructions": the bits of a NaN operand, made quiet;
// without a NaN operand an unspecified NaN.
static u64 nan32() { return settings.random_nan ? (0x7FC00000u | (rnd() & 0x803FFFFFu)) : 0x7FFFFFFFu; }
static u64 nan64(u64 a, u64 b, u64 c) {
    u64 found[3];
    int n = 0;
    for (u64 x : {a, b, c})
        if ((x & 0x7FFFFFFFFFFFFFFFull) > 0x7FF0000000000000ull) found[n++] = x | 0x0008000000000000ull;
    if (settings.random_nan) return n ? found[rnd() % n] : (0x7FF8000000000000ull | (rnd() & 0x8007FFFFFFFFFFFFull));
    return n ? found[0] : 0xFFF8000000000000ull;
}
static inline u64 R32(float f) { return __builtin_expect(f != f, 0) ? nan32() : raw32(f); }
static inline u64 R64(double f, u64 a, u64 b = 0, u64 c = 0) {
    return __builtin_expect(f != f, 0) ? nan64(a, b, c) : raw64(f);
}
static inline u64 W(u64 x) { return (u32)x; }
static inline u64 H(u64 x) { return (u16)x; }
static inline u64 abs32(u64 x) { return F(x) != F(x) ? nan32() : (x & 0x7FFFFFFFu); }
static inline u64 abs64(u64 x) { return D(x) != D(x) ? nan64(x, 0, 0) : (x & 0x7FFFFFFFFFFFFFFFull); }
static inline u64 neg64(u64 x) { return D(x) != D(x) ? nan64(x, 0, 0) : (x ^ 0x8000000000000000ull); }
static inline u64 neg32(u64 x) { return F(x) != F(x) ? nan32() : (x ^ 0x80000000u); }
// The bounds are those of the type; a NaN gives its sign bit.
static inline u64 rzi_s64(u64 x) {
    const double d = as_f64(x);
    if (d != d || d < -0x1p63) return 1ull << 63;
    return d >= 0x1p63 ? ~(1ull << 63) : (u64)(i64)d;
}
static inline u64 rzi_u64(u64 x) {
    const double d = as_f64(x);
    if (d != d) return 1ull << 63;
    return d <= -1 ? 0 : d >= 0x1p64 ? ~0ull : (u64)d;
}
// binary16: a sign, 5 bits of exponent, 10 of fraction. A NaN is that of f32 instructions; of 16 bits, all ones so far.
static inline u64 widen_f16(u64 h) {
    const u32 exponent = h >> 10 & 31, fraction = h & 1023;
    const float sign = h & 0x8000 ? -1.0f : 1.0f;
    if (exponent == 31) return fraction ? nan32() : raw32(sign * INFINITY);
    return raw32(sign * ldexpf((float)(exponent ? fraction + 1024 : fraction), (int)(exponent ? exponent : 1) - 25));
}
static inline u64 round_f16(float x) {
    if (x != x) return settings.random_nan ? 0x7E00u | (rnd() & 0x81FFu) : 0x7FFFu;
    const u64 sign = std::signbit(x) ? 0x8000 : 0;
    const double y = fabs((double)x);
    if (y == 0) return sign;
    if (y >= 65520) return sign | 0x7C00;
    int exponent;
    frexp(y, &exponent);
    // In units of the last place; a carry goes into the exponent.
    const int unit = std::max(exponent - 11, -24);
    return sign | ((u64)(unit + 24) * 1024 + (u64)nearbyint(ldexp(y, -unit)));
}
static inline u64 bfe32(u64 a, u64 b, u64 c) {
    u32 pos = b & 255, len = c & 255;
    if (pos >= 32 || len == 0) return 0;
    u64 v = (u64)(u32)a >> pos;
    return len >= 32 ? v : v & ((1ull << len) - 1);
}
// Bits beyond the field, or beyond bit 31, are copies of its last one.
static inline u64 bfe_s32(u64 a, u64 b, u64 c) {
    u32 pos = b & 255, len = c & 255;
    if (len == 0) return 0;
    u32 last = std::min<u32>(pos + len - 1, 31);
    u32 sign = (u32)a >> last & 1 ? ~0u : 0;
    if (pos > 31) return sign;
    u32 count = last - pos + 1, field = (u32)a >> pos;
    return count == 32 ? field : (field & ((1u << count) - 1)) | (sign << count);
}
// Four products of bytes, of which those of b are signed, and a sum modulo 2^32.
template <typename A> static inline u64 dp4a(u64 a, u64 b, u64 c) {
    u32 sum = (u32)c;
    for (int n = 0; n < 32; n += 8) sum += (u32)((i32)(A)(a >> n) * (i32)(int8_t)(b >> n));
    return sum;
}
// Whether an operand is NaN.
#define N32(a, b) (F(a) != F(a) || F(b) != F(b))
#define N64(a, b) (D(a) != D(a) || D(b) != D(b))

// For each instruction its name, the widths of d, a, b and c (1, 3, 6: 16, 32, 64 bits; p: predicate; 0: none), and the
// value of d as an expression of the operands a, b and c.
// clang-format off
#define VALUES(X) \
    X("add.s32", "3330", W(a + b)) X("add.s64", "6660", a + b) X("add.u32", "3330", W(a + b)) X("add.u64", "6660", a + b) \
    X("sub.s32", "3330", W(a - b)) X("sub.s64", "6660", a - b) \
    X("mul.lo.s32", "3330", W(a * b)) X("mul.lo.s64", "6660", a * b) X("mul.lo.u32", "3330", W(a * b)) X("mul.lo.u64", "6660", a * b) \
    X("mul.wide.u32", "6330", (u64)(u32)a * (u32)b) X("mul.wide.u16", "3110", (u32)(u16)a * (u32)(u16)b) \
    X("mul.wide.s32", "6330", (u64)((i64)(i32)a * (i64)(i32)b)) \
    X("mul.hi.u64", "6660", (u64)(((unsigned __int128)a * b) >> 64)) X("mul.hi.u32", "3330", ((u64)(u32)a * (u32)b) >> 32) \
    X("mad.lo.s32", "3333", W(a * b + c)) X("mad.lo.s64", "6666", a * b + c) \
    X("neg.s32", "3300", W(0 - a)) X("neg.s64", "6600", 0 - a) \
    X("min.u16", "1110", std::min<u16>(a, b)) X("max.u16", "1110", std::max<u16>(a, b)) \
    X("min.s16", "1110", H(std::min<int16_t>(a, b))) X("max.s16", "1110", H(std::max<int16_t>(a, b))) \
    X("min.u32", "3330", std::min<u32>(a, b)) X("max.u32", "3330", std::max<u32>(a, b)) \
    X("min.s32", "3330", (u32)std::min<i32>(a, b)) X("max.s32", "3330", (u32)std::max<i32>(a, b)) \
    X("min.u64", "6660", std::min<u64>(a, b)) X("max.u64", "6660", std::max<u64>(a, b)) \
    X("min.s64", "6660", (u64)std::min<i64>(a, b)) X("max.s64", "6660", (u64)std::max<i64>(a, b)) \
    X("and.b16", "1110", a & b) X("and.b32", "3330", a & b) X("and.b64", "6660", a & b) X("and.pred", "ppp0", a & b) \
    X("or.b16", "1110", a | b) X("or.b32", "3330", a | b) X("or.b64", "6660", a | b) X("or.pred", "ppp0", a | b) \
    X("xor.b32", "3330", a ^ b) X("xor.b64", "6660", a ^ b) X("xor.pred", "ppp0", a ^ b) \
    X("not.b32", "3300", W(~a)) X("not.b64", "6600", ~a) X("not.pred", "pp00", a ^ 1) \
    X("shl.b32", "3330", (u32)b > 31 ? 0 : W(a << b)) X("shl.b64", "6630", (u32)b > 63 ? 0 : a << b) \
    X("shr.u16", "1130", (u32)b > 15 ? 0 : a >> b) X("shr.u32", "3330", (u32)b > 31 ? 0 : a >> b) X("shr.u64", "6630", (u32)b > 63 ? 0 : a >> b) \
    X("shr.s32", "3330", W((i32)a >> std::min<u32>(b, 31))) X("shr.s64", "6630", (u64)((i64)a >> std::min<u32>(b, 63))) \
    X("bfe.u32", "3333", bfe32(a, b, c)) X("bfe.s32", "3333", bfe_s32(a, b, c)) \
    X("dp4a.s32.s32", "3333", dp4a<int8_t>(a, b, c)) X("dp4a.u32.s32", "3333", dp4a<uint8_t>(a, b, c)) \
    X("clz.b32", "3300", (u32)a ? __builtin_clz((u32)a) : 32) X("popc.b32", "3300", __builtin_popcount((u32)a)) \
    X("selp.b16", "111p", c ? a : b) X("selp.b32", "333p", c ? a : b) X("selp.b64", "666p", c ? a : b) X("selp.f32", "333p", c ? a : b) X("selp.f64", "666p", c ? a : b) \
    X("mov.b16", "1100", a) X("mov.b32", "3300", a) X("mov.u32", "3300", a) X("mov.b64", "6600", a) X("mov.u64", "6600", a) X("mov.f32", "3300", a) X("mov.f64", "6600", a) X("mov.pred", "pp00", a) \
    X("cvt.u64.u32", "6300", a) X("cvt.u32.u64", "3600", W(a)) X("cvt.s64.s32", "6300", (u64)(i64)(i32)a) X("cvt.u16.u32", "1300", H(a)) X("cvt.u32.u16", "3100", a) \
    X("cvt.s16.s8", "1100", H((int8_t)a)) X("cvt.s64.s8", "6600", (u64)(i64)(int8_t)a) X("cvt.s8.s32", "1300", H((int8_t)a)) X("cvt.s8.s64", "1600", H((int8_t)a)) \
    X("cvt.u16.u64", "1600", H(a)) X("cvt.u64.u16", "6100", a) X("cvt.rzi.s64.f64", "6600", rzi_s64(a)) X("cvt.rzi.u64.f64", "6600", rzi_u64(a)) \
    X("cvt.rn.f64.u64", "6600", raw64((double)a)) X("cvt.rn.f32.u64", "3600", raw32((float)a)) \
    X("cvt.rn.f64.s32", "6300", raw64((double)(i32)a)) X("cvt.rn.f32.s32", "3300", raw32((float)(i32)a)) \
    X("cvt.rn.f32.f64", "3600", R32((float)D(a))) X("cvt.f64.f32", "6300", R64((double)F(a), 0)) \
    X("cvt.f32.f16", "3100", widen_f16(a)) X("cvt.rn.f16.f32", "1300", round_f16(F(a))) \
    X("cvta.global.u64", "6600", a) X("cvta.to.global.u64", "6600", a) \
    X("add.rn.f32", "3330", R32(F(a) + F(b))) X("add.rn.f64", "6660", R64(D(a) + D(b), a, b)) \
    X("sub.rn.f32", "3330", R32(F(a) - F(b))) X("sub.rn.f64", "6660", R64(D(a) - D(b), a, b)) \
    X("mul.rn.f32", "3330", R32(F(a) * F(b))) X("mul.rn.f64", "6660", R64(D(a) * D(b), a, b)) \
    X("div.rn.f32", "3330", R32(F(a) / F(b))) X("div.rn.f64", "6660", R64(D(a) / D(b), a, b)) \
    X("rcp.rn.f64", "6600", R64(1.0 / D(a), a)) X("rcp.rn.f32", "3300", R32(1.0f / F(a))) \
    X("sqrt.rn.f32", "3300", R32(sqrtf(F(a)))) X("sqrt.rn.f64", "6600", R64(sqrt(D(a)), a)) \
    X("fma.rn.f32", "3333", R32(__builtin_fmaf(F(a), F(b), F(c)))) X("fma.rn.f64", "6666", R64(__builtin_fma(D(a), D(b), D(c)), a, b, c)) \
    X("abs.s16", "1100", H((int16_t)a < 0 ? 0 - a : a)) X("abs.s32", "3300", W((i32)a < 0 ? 0 - a : a)) X("abs.s64", "6600", (i64)a < 0 ? 0 - a : a) \
    X("abs.f32", "3300", abs32(a)) X("abs.f64", "6600", abs64(a)) X("neg.f32", "3300", neg32(a)) X("neg.f64", "6600", neg64(a)) \
    X("setp.eq.b16", "p110", a == b) X("setp.ne.b16", "p110", a != b) X("setp.lt.u16", "p110", a < b) X("setp.gt.u16", "p110", a > b) X("setp.le.u16", "p110", a <= b) X("setp.le.s16", "p110", (int16_t)a <= (int16_t)b) \
    X("setp.eq.b32", "p330", a == b) X("setp.ne.b32", "p330", a != b) X("setp.eq.b64", "p660", a == b) X("setp.ne.b64", "p660", a != b) \
    X("setp.eq.s32", "p330", a == b) X("setp.ne.s32", "p330", a != b) X("setp.eq.s64", "p660", a == b) X("setp.ne.s64", "p660", a != b) \
    X("setp.lt.u32", "p330", a < b) X("setp.le.u32", "p330", a <= b) X("setp.gt.u32", "p330", a > b) X("setp.ge.u32", "p330", a >= b) \
    X("setp.lt.u64", "p660", a < b) X("setp.le.u64", "p660", a <= b) X("setp.gt.u64", "p660", a > b) X("setp.ge.u64", "p660", a >= b) \
    X("setp.lt.s32", "p330", (i32)a < (i32)b) X("setp.le.s32", "p330", (i32)a <= (i32)b) X("setp.gt.s32", "p330", (i32)a > (i32)b) X("setp.ge.s32", "p330", (i32)a >= (i32)b) \
    X("setp.lt.s64", "p660", (i64)a < (i64)b) X("setp.le.s64", "p660", (i64)a <= (i64)b) X("setp.gt.s64", "p660", (i64)a > (i64)b) X("setp.ge.s64", "p660", (i64)a >= (i64)b) \
    X("setp.eq.f32", "p330", F(a) == F(b)) X("setp.lt.f32", "p330", F(a) < F(b)) X("setp.le.f32", "p330", F(a) <= F(b)) X("setp.gt.f32", "p330", F(a) > F(b)) X("setp.ge.f32", "p330", F(a) >= F(b)) \
    X("setp.ne.f32", "p330", !N32(a, b) && F(a) != F(b)) \
    X("setp.equ.f32", "p330", N32(a, b) || F(a) == F(b)) X("setp.neu.f32", "p330", N32(a, b) || F(a) != F(b)) X("setp.ltu.f32", "p330", N32(a, b) || F(a) < F(b)) X("setp.leu.f32", "p330", N32(a, b) || F(a) <= F(b)) \
    X("setp.gtu.f32", "p330", N32(a, b) || F(a) > F(b)) X("setp.geu.f32", "p330", N32(a, b) || F(a) >= F(b)) \
    X("setp.num.f32", "p330", !N32(a, b)) X("setp.nan.f32", "p330", N32(a, b)) \
    X("setp.eq.f64", "p660", D(a) == D(b)) X("setp.lt.f64", "p660", D(a) < D(b)) X("setp.le.f64", "p660", D(a) <= D(b)) X("setp.gt.f64", "p660", D(a) > D(b)) X("setp.ge.f64", "p660", D(a) >= D(b)) \
    X("setp.ne.f64", "p660", !N64(a, b) && D(a) != D(b)) \
    X("setp.equ.f64", "p660", N64(a, b) || D(a) == D(b)) X("setp.neu.f64", "p660", N64(a, b) || D(a) != D(b)) X("setp.ltu.f64", "p660", N64(a, b) || D(a) < D(b)) X("setp.leu.f64", "p660", N64(a, b) || D(a) <= D(b)) \
    X("setp.gtu.f64", "p660", N64(a, b) || D(a) > D(b)) X("setp.geu.f64", "p660", N64(a, b) || D(a) >= D(b)) \
    X("setp.num.f64", "p660", !N64(a, b)) X("setp.nan.f64", "p660", N64(a, b))
// clang-format on

enum : u16 { FIRST_VALUE = 16 };
struct Known {
    const char *text, *widths;
};
static const Known known[] = {
#define X(text, widths, value) {text, widths},
    VALUES(X)
#undef X
};
enum Op : u16 { BRA, RET, BAR, WARP_BAR, SHFL, ATOM_INC, LD, ST, UNPACK, UNPACK_16, PACK, DIVU32, DIVU64, REMU32, REMU64 };

struct Inst {
    u16 op;
    u8 size, count; // of loads and stores: bytes of an element, elements
    bool shared, strong, negated, guarded;
    u32 guard;
    u32 d, a, b, c;
    u32 v[4];
    i64 offset;
    u32 target;
    Alloc *cache;
    u32 line;
};
struct Param {
    std::string name;
    u32 size;
};
// What an instruction loads of a parameter: all of it, or a word of an array of bytes.
struct ParamWord {
    u32 index, offset, size, place;
};
struct Kernel {
    std::string name;
    std::vector<Param> params;
    std::vector<ParamWord> param_words;
    std::vector<Inst> code;
    std::vector<std::string> text;
    std::vector<u8> coverage;
    u32 maxntid = 1024;
    u32 regs = 0;               // registers of a thread; the constants follow them
    std::vector<u64> constants; // also holds the special registers and the parameters
    u32 sink = 0;               // the register to which `_` is written
    u32 special[16];            // the indices of %tid.x and so on, as in SPECIALS
    u32 total = 0;              // registers and constants
    u64 launches = 0, executed = 0;
    bool uses_shared = false;
};
struct Module {
    std::vector<std::unique_ptr<Kernel>> kernels;
};
static std::vector<Module *> modules;
static const char *SPECIALS[] = {"%tid.x",   "%tid.y",   "%tid.z",    "%ntid.x",   "%ntid.y",   "%ntid.z", "%ctaid.x",
                                 "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid"};
static const int SPECIAL_COUNT = 13;
// The address of dynamic shared memory in the shared window: a multiple of 16, but of no higher power of two, so that no
// kernel can rely on more alignment than it declares.
static const u32 SHARED_BASE = 1040;
