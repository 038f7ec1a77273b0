// The lexer of PTX.
#pragma once
#include "settings.hpp"

struct ParseError {
    std::string text;
};
// The rest of a text that is being read.
struct Text {
    const char *p;
    u32 line = 1;

    [[noreturn]] void fail(const std::string &why) { throw ParseError{"line " + std::to_string(line) + ": " + why}; }
    void space() {
        for (;;) {
            if (*p == '\n') line++, p++;
            else if (isspace((u8)*p)) p++;
            else if (p[0] == '/' && p[1] == '/')
                while (*p && *p != '\n') p++;
            else break;
        }
    }
    std::string word() {
        space();
        const char *s = p;
        while (isalnum((u8)*p) || *p == '_' || *p == '.' || *p == '$' || *p == '%') p++;
        if (s == p) fail(std::string("a word is missing at '") + std::string(p, strnlen(p, 20)) + "'");
        return std::string(s, p);
    }
    bool eat(char c) {
        space();
        if (*p != c) return false;
        p++;
        return true;
    }
    void need(char c) {
        if (!eat(c)) fail(std::string("missing ") + c + " at '" + std::string(p, strnlen(p, 20)) + "'");
    }
    std::string until(char end) {
        std::string s;
        space();
        while (*p && *p != end) {
            if (p[0] == '/' && p[1] == '/') {
                while (*p && *p != '\n') p++;
                continue;
            }
            if (*p == '\n') line++;
            s += isspace((u8)*p) ? ' ' : *p;
            p++;
        }
        need(end);
        while (!s.empty() && s.back() == ' ') s.pop_back();
        return s;
    }

    // Splits operands at commas outside of braces and brackets.
    static std::vector<std::string> split(const std::string &s) {
        std::vector<std::string> parts;
        int depth = 0;
        std::string part;
        for (char c : s) {
            if (c == '{' || c == '[') depth++;
            if (c == '}' || c == ']') depth--;
            if (c == ',' && depth == 0) {
                parts.push_back(part);
                part.clear();
            } else if (c != ' ') part += c;
        }
        if (!part.empty()) parts.push_back(part);
        return parts;
    }
    // The operands in braces; an operand without braces is the only one.
    static std::vector<std::string> braces(const std::string &s) {
        if (s.size() < 2 || s[0] != '{') return {s};
        return split(s.substr(1, s.size() - 2));
    }
};
