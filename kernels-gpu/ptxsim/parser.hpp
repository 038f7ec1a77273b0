// The parser: from PTX to kernels. It refuses everything that it does not know.
#pragma once
#include "instructions.hpp"
#include "text.hpp"

struct Parser : Text {
    std::string target;

    void module(Module &m) {
        for (;;) {
            space();
            if (!*p) return;
            std::string w = word();
            if (w == ".version") {
                word();
            } else if (w == ".target") target = word();
            else if (w == ".address_size") {
                if (word() != "64") fail("address size");
            } else if (w == ".extern") {
                if (until(';') != ".shared .align 16 .b8 dynamic_shared[]") fail("extern");
            } else if (w == ".visible") {
                if (word() != ".entry") fail("entry");
                entry(m);
            } else fail("unknown: " + w);
        }
    }

    // The registers of a declaration: `count` of them (0: a single one without a number), from index `first`.
    struct Range {
        u32 first, count;
        char width;
    };
    std::vector<std::map<std::string, Range>> scopes; // registers by name, in nested scopes
    std::map<std::string, u32> labels;
    std::vector<std::pair<u32, std::string>> jumps;
    std::map<u64, u32> constant_places;
    Kernel *k;

    static u32 type_bytes(const std::string &t) {
        int bits = atoi(t.c_str() + 2);
        return bits / 8;
    }
    u32 constant(u64 value) {
        auto it = constant_places.find(value);
        if (it != constant_places.end()) return it->second;
        u32 place = (u32)k->constants.size() | 0x80000000u;
        k->constants.push_back(value);
        return constant_places[value] = place;
    }
    void reg(const std::string &decl) { // of ".reg .b32 %r<68>" the text after ".reg"
        Text q{};
        q.p = decl.c_str();
        std::string t = q.word();
        char width = t == ".pred"                 ? 'p'
                     : t == ".b16"                ? '1'
                     : t == ".b32" || t == ".f32" ? '3'
                     : t == ".b64" || t == ".f64" ? '6'
                                                  : 0;
        if (!width) fail("register type " + t);
        for (;;) {
            std::string n = q.word();
            u32 count = 0;
            if (q.eat('<')) {
                count = atoi(q.word().c_str());
                q.need('>');
            }
            scopes.back()[n] = Range{k->regs, count, width};
            k->regs += std::max(count, 1u);
            if (!q.eat(',')) break;
        }
    }
    bool find_reg(const std::string &n, u32 &place, char &width) {
        size_t digits = n.size();
        while (digits && isdigit((u8)n[digits - 1])) digits--;
        for (size_t s = scopes.size(); s-- > 0;) {
            auto it = scopes[s].find(n);
            if (it != scopes[s].end() && it->second.count == 0) {
                place = it->second.first;
                width = it->second.width;
                return true;
            }
            if (digits == n.size()) continue;
            it = scopes[s].find(n.substr(0, digits));
            u32 number = (u32)atoi(n.c_str() + digits);
            if (it != scopes[s].end() && number < it->second.count) {
                place = it->second.first + number;
                width = it->second.width;
                return true;
            }
        }
        return false;
    }
    u32 destination(const std::string &n, char width) {
        u32 place;
        char w;
        if (n == "_") return k->sink;
        if (!find_reg(n, place, w)) fail("no register " + n);
        if (w != width) fail("width of " + n);
        return place;
    }
    static u64 width_mask(char w) { return w == 'p' ? 1 : w == '1' ? 0xFFFF : w == '3' ? 0xFFFFFFFFull : ~0ull; }
    u32 source(const std::string &n, char width) {
        u32 place;
        char w;
        if (n.empty()) fail("an operand is missing");
        if (n[0] == '%') {
            for (int i = 0; i < SPECIAL_COUNT; i++)
                if (n == SPECIALS[i]) {
                    if (width != '3') fail("width of " + n);
                    return k->special[i];
                }
        }
        if (find_reg(n, place, w)) {
            if (w != width) fail("width of " + n);
            return place;
        }
        if (n == "dynamic_shared") {
            if (width != '3') fail("width of dynamic_shared");
            k->uses_shared = true;
            return constant(SHARED_BASE);
        }
        if (n[0] == '0' && (n[1] == 'f' || n[1] == 'F')) {
            if (width != '3' || n.size() != 10) fail("constant " + n);
            return constant(strtoull(n.c_str() + 2, nullptr, 16));
        }
        if (n[0] == '0' && (n[1] == 'd' || n[1] == 'D')) {
            if (width != '6' || n.size() != 18) fail("constant " + n);
            return constant(strtoull(n.c_str() + 2, nullptr, 16));
        }
        char *end;
        u64 value = n[0] == '-' ? (u64)strtoll(n.c_str(), &end, 0) : strtoull(n.c_str(), &end, 0);
        if (*end) fail("operand " + n);
        return constant(value & width_mask(width));
    }

    void entry(Module &m) {
        auto kernel = std::make_unique<Kernel>();
        k = kernel.get();
        k->name = word();
        scopes.assign(1, {});
        labels.clear(), jumps.clear(), constant_places.clear();
        k->sink = k->regs++;
        need('(');
        if (!eat(')')) {
            do {
                if (word() != ".param") fail("parameter");
                std::string t = word();
                bool bytes = t == ".align";
                if (bytes) word(), t = word(); // .align 8 .b8 name[40]
                Param param;
                param.size = type_bytes(t);
                if (bytes ? param.size != 1 : param.size != 4 && param.size != 8) fail("parameter type " + t);
                std::string w = word();
                while (w[0] == '.' || isdigit((u8)w[0])) w = word(); // .ptr .align 1
                param.name = w;
                if (bytes) {
                    need('[');
                    param.size = (u32)atoi(word().c_str());
                    need(']');
                }
                k->params.push_back(param);
            } while (eat(','));
            need(')');
        }
        while (!eat('{')) {
            std::string w = word();
            if (w == ".maxntid") {
                k->maxntid = atoi(word().c_str());
                while (eat(',')) k->maxntid *= atoi(word().c_str());
            } else if (w == ".minnctapersm") word();
            else fail("directive " + w);
        }
        // Special registers and words of parameters are constants whose values are set for each launch and thread.
        for (int i = 0; i < SPECIAL_COUNT; i++) {
            k->special[i] = (u32)k->constants.size() | 0x80000000u;
            k->constants.push_back(0);
        }
        int depth = 0;
        for (;;) {
            space();
            if (*p == '{') {
                p++;
                depth++;
                scopes.emplace_back();
                continue;
            }
            if (*p == '}') {
                p++;
                scopes.pop_back();
                if (depth-- == 0) break;
                continue;
            }
            if (!*p) fail("the end is missing");
            const char *s = p;
            while (isalnum((u8)*s) || *s == '_' || *s == '$') s++;
            if (s > p && *s == ':') {
                labels[std::string(p, s)] = (u32)k->code.size();
                p = s + 1;
                continue;
            }
            u32 at = line;
            std::string text = until(';');
            if (text.compare(0, 4, ".reg") == 0) reg(text.substr(4));
            else if (text.compare(0, 7, ".pragma") == 0) {
            } else {
                instruction(text, at);
            }
        }
        for (auto &jump : jumps) {
            auto it = labels.find(jump.second);
            if (it == labels.end()) fail("no label " + jump.second);
            k->code[jump.first].target = it->second;
        }
        // The end of the body is a return.
        Inst last{};
        last.op = RET;
        k->code.push_back(last);
        k->text.push_back("(end)");
        for (auto &i : k->code)
            for (u32 *place : {&i.d, &i.a, &i.b, &i.c, &i.guard, &i.v[0], &i.v[1], &i.v[2], &i.v[3]})
                if (*place & 0x80000000u) *place = k->regs + (*place & 0x7FFFFFFFu);
        for (u32 &place : k->special) place = k->regs + (place & 0x7FFFFFFFu);
        for (auto &w : k->param_words) w.place = k->regs + (w.place & 0x7FFFFFFFu);
        k->total = k->regs + (u32)k->constants.size();
        k->coverage.assign(k->code.size(), 0);
        m.kernels.push_back(std::move(kernel));
    }

    void address(Inst &i, const std::string &s, char width) {
        if (s.size() < 3 || s[0] != '[' || s.back() != ']') fail("address " + s);
        std::string inner = s.substr(1, s.size() - 2), base = inner;
        size_t plus = inner.find('+');
        if (plus != std::string::npos) {
            base = inner.substr(0, plus);
            i.offset = strtoll(inner.c_str() + plus + 1, nullptr, 0);
        }
        i.a = source(base, width);
    }

    // The text of an instruction: its name and its operands.
    struct Written {
        const std::string &whole;
        std::string name;
        std::vector<std::string> o;
        bool begins(const char *t) const { return name.compare(0, strlen(t), t) == 0; }
        char width() const { return name.back() == '4' ? '6' : '3'; }
    };
    void arity(const Written &w, size_t n) {
        if (w.o.size() != n) fail("operands of " + w.whole);
    }

    void instruction(const std::string &whole, u32 at) {
        Inst i{};
        i.line = at;
        std::string s = whole;
        if (s[0] == '@') {
            size_t e = s.find(' ');
            std::string g = s.substr(1, e - 1);
            i.guarded = true;
            if (g[0] == '!') i.negated = true, g = g.substr(1);
            i.guard = source(g, 'p');
            s = s.substr(s.find_first_not_of(' ', e));
        }
        size_t e = s.find(' ');
        Written w{whole, s.substr(0, e), e == std::string::npos ? std::vector<std::string>{} : split(s.substr(e + 1))};
        if (!flow(i, w) && !moves(i, w) && !divides(i, w)) value(i, w);
        // The kernels guard only branches, and the interpreter is faster without guards elsewhere.
        if (i.guarded && i.op != BRA) fail("guard on " + whole);
        k->code.push_back(i);
        k->text.push_back(whole);
    }

    // Branches, barriers, shuffles and atomics.
    bool flow(Inst &i, const Written &w) {
        const auto &o = w.o;
        if (w.name == "bra" || w.name == "bra.uni") {
            arity(w, 1);
            i.op = BRA;
            jumps.emplace_back((u32)k->code.size(), o[0]);
        } else if (w.name == "ret") {
            arity(w, 0);
            i.op = RET;
        } else if (w.name == "bar.sync") {
            arity(w, 1);
            if (o[0] != "0") fail("barrier " + o[0]);
            i.op = BAR;
        } else if (w.name == "bar.warp.sync") {
            arity(w, 1);
            if (o[0] != "-1") fail("warp barrier " + o[0]);
            i.op = WARP_BAR;
        } else if (w.name == "shfl.sync.bfly.b32") {
            arity(w, 5);
            if (o[3] != "31" || o[4] != "-1") fail("shuffle " + w.whole);
            i.op = SHFL, i.d = destination(o[0], '3'), i.a = source(o[1], '3'), i.b = source(o[2], '3');
        } else if (w.name == "atom.acq_rel.gpu.global.inc.u32") {
            arity(w, 3);
            i.op = ATOM_INC, i.size = 4, i.count = 1, i.d = destination(o[0], '3'), i.b = source(o[2], '3');
            address(i, o[1], '6');
        } else return false;
        return true;
    }

    // The place of a word of a parameter: [name] or [name+offset].
    u32 param_word(const std::string &s, u32 size) {
        size_t plus = s.find('+');
        std::string name = s.substr(1, std::min(plus, s.size() - 1) - 1);
        u32 offset = plus == std::string::npos ? 0 : (u32)atoi(s.c_str() + plus + 1);
        for (u32 index = 0; index < k->params.size(); index++) {
            const Param &param = k->params[index];
            if (param.name != name) continue;
            if (offset % size || offset + size > param.size) fail("parameter " + s);
            for (auto &w : k->param_words)
                if (w.index == index && w.offset == offset && w.size == size) return w.place;
            u32 place = (u32)k->constants.size() | 0x80000000u;
            k->constants.push_back(0);
            k->param_words.push_back({index, offset, size, place});
            return place;
        }
        fail("parameter " + s);
    }

    // Loads, stores, and moves of the two halves of a register.
    bool moves(Inst &i, const Written &w) {
        const auto &o = w.o;
        if (w.name == "ld.param.b64" || w.name == "ld.param.b32") {
            arity(w, 2);
            i.op = (u16)(FIRST_VALUE + find_known(w.width() == '6' ? "mov.b64" : "mov.b32"));
            i.d = destination(o[0], w.width());
            i.a = param_word(o[1], w.width() == '6' ? 8 : 4);
        } else if (w.begins("ld.") || w.begins("st.")) {
            arity(w, 2);
            memory(i, w);
        } else if (w.name == "mov.b64" && o.size() == 2 && o[0][0] == '{') {
            auto v = braces(o[0]);
            if (v.size() != 2) fail(w.whole);
            i.op = UNPACK, i.v[0] = destination(v[0], '3'), i.v[1] = destination(v[1], '3'), i.a = source(o[1], '6');
        } else if (w.name == "mov.b32" && o.size() == 2 && o[0][0] == '{') {
            auto v = braces(o[0]);
            if (v.size() != 2) fail(w.whole);
            i.op = UNPACK_16, i.v[0] = destination(v[0], '1'), i.v[1] = destination(v[1], '1'), i.a = source(o[1], '3');
        } else if (w.name == "mov.b64" && o.size() == 2 && o[1][0] == '{') {
            auto v = braces(o[1]);
            if (v.size() != 2) fail(w.whole);
            i.op = PACK, i.d = destination(o[0], '6'), i.a = source(v[0], '3'), i.b = source(v[1], '3');
        } else return false;
        return true;
    }

    void memory(Inst &i, const Written &w) {
        const bool load = w.name[0] == 'l';
        std::vector<std::string> parts;
        for (size_t at = 3; at < w.name.size();) {
            size_t dot = std::min(w.name.find('.', at), w.name.size());
            parts.push_back(w.name.substr(at, dot - at));
            at = dot + 1;
        }
        i.op = load ? LD : ST, i.count = 1;
        bool space_known = false;
        for (size_t n = 0; n + 1 < parts.size(); n++) {
            const std::string &part = parts[n];
            if (part == "global") space_known = true;
            else if (part == "shared") i.shared = space_known = true;
            else if (part == "relaxed" && parts[n + 1] == "gpu") i.strong = true;
            else if (part == "gpu" && i.strong) continue;
            else if (part == "v2") i.count = 2;
            else if (part == "v4") i.count = 4;
            else fail("unknown: " + w.whole);
        }
        const std::string &t = parts.back();
        if (t == "b32" || t == "f32" || t == "u32" || t == "s32") i.size = 4;
        else if (t == "b64" || t == "f64" || t == "u64" || t == "s64") i.size = 8;
        else if (t == "u16" && !i.shared) i.size = 2;
        else if (t == "u8" && !i.shared) i.size = 1;
        else fail("type of " + w.whole);
        if (!space_known) fail("space of " + w.whole);
        address(i, w.o[load ? 1 : 0], i.shared ? '3' : '6');
        auto values = braces(w.o[load ? 0 : 1]);
        if (values.size() != i.count) fail("operands of " + w.whole);
        // A byte is in a register of 32 bits.
        const char width = i.size == 8 ? '6' : i.size == 2 ? '1' : '3';
        for (int n = 0; n < i.count; n++) i.v[n] = load ? destination(values[n], width) : source(values[n], width);
    }

    bool divides(Inst &i, const Written &w) {
        if (!w.begins("div.u") && !w.begins("rem.u")) return false;
        arity(w, 3);
        const bool wide = w.width() == '6';
        i.op = w.begins("div") ? (wide ? DIVU64 : DIVU32) : (wide ? REMU64 : REMU32);
        i.d = destination(w.o[0], w.width()), i.a = source(w.o[1], w.width()), i.b = source(w.o[2], w.width());
        return true;
    }

    // An instruction of the table VALUES.
    void value(Inst &i, const Written &w) {
        size_t n = find_known(w.name);
        if (n == known_count()) fail("unknown instruction: " + w.whole);
        const char *widths = known[n].widths;
        arity(w, widths[2] == '0' ? 2 : widths[3] == '0' ? 3 : 4);
        i.op = (u16)(FIRST_VALUE + n);
        i.d = destination(w.o[0], widths[0]), i.a = source(w.o[1], widths[1]);
        if (widths[2] != '0') i.b = source(w.o[2], widths[2]);
        if (widths[3] != '0') i.c = source(w.o[3], widths[3]);
    }
    static size_t find_known(const std::string &name) {
        size_t n = 0;
        while (n < known_count() && name != known[n].text) n++;
        return n;
    }
    static size_t known_count() { return sizeof known / sizeof *known; }
};
