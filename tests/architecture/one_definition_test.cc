// No two files define a type of the same name, unless each keeps it in an anonymous namespace. Two
// such types in one program are undefined behaviour that neither compiler nor linker reports: the
// linker keeps one inline function of the two, for both.

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Returns the end of the literal or comment that begins at `at`, or `at` if none does.
size_t EndOfQuoted(const std::string& text, size_t at) {
  const auto after = [&](const std::string& closing, size_t from) {
    const size_t found = text.find(closing, from);
    return found == std::string::npos ? text.size() : found + closing.size();
  };
  if (text.compare(at, 2, "//") == 0) return after("\n", at) - 1;
  if (text.compare(at, 2, "/*") == 0) return after("*/", at + 2);
  if (text.compare(at, 2, "R\"") == 0) {
    const size_t open = text.find('(', at);
    return after(")" + text.substr(at + 2, open - at - 2) + "\"", open);
  }
  const char quote = text[at];
  // A quote between digits only separates them.
  const bool separates =
      quote == '\'' && at > 0 && std::isxdigit(static_cast<unsigned char>(text[at - 1]));
  if ((quote != '"' && quote != '\'') || separates) return at;
  size_t end = at + 1;
  while (end < text.size() && text[end] != quote) end += text[end] == '\\' ? 2 : 1;
  return end + 1;
}

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Returns words, "::" and single signs, without comments, literals and preprocessor lines.
std::vector<std::string> TokensOf(const std::string& text) {
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    if (const size_t end = EndOfQuoted(text, at); end != at) {
      at = end;
    } else if (text[at] == '#') {
      do at = text.find('\n', at + 1);
      while (at != std::string::npos && text[at - 1] == '\\');
      if (at == std::string::npos) break;
    } else if (IsWordCharacter(text[at])) {
      const size_t first = at;
      while (at < text.size() && IsWordCharacter(text[at])) ++at;
      tokens.push_back(text.substr(first, at - first));
    } else if (text.compare(at, 2, "::") == 0) {
      tokens.push_back("::");
      at += 2;
    } else {
      if (!std::isspace(static_cast<unsigned char>(text[at]))) tokens.push_back({text[at]});
      ++at;
    }
  }
  return tokens;
}

// What a brace opens: a namespace, a type, or something else. An anonymous namespace has no name.
struct Scope {
  enum { kNamespace, kType, kOther } kind = kOther;
  std::string name;
};

// `statement` holds the tokens before the brace.
Scope ScopeOf(const std::vector<std::string>& statement) {
  static const std::set<std::string> kTypes = {"class", "struct", "union", "enum"};
  Scope scope;
  int angles = 0;
  for (const std::string& token : statement) {
    const bool ends_name = token == ":" || token == "final";
    if (scope.kind == Scope::kType && ends_name && !scope.name.empty()) break;
    if (scope.kind == Scope::kType && (token == "(" || token == "=")) return {};  // an object
    angles += token == "<" ? 1 : token == ">" ? -1 : 0;
    if (token == "namespace") {
      scope.kind = Scope::kNamespace;
    } else if (kTypes.count(token) != 0 && angles == 0) {
      scope.kind = Scope::kType;
    } else if (scope.kind != Scope::kOther) {
      scope.name += token;
    }
  }
  return scope;
}

// Returns the names of the types that `text` defines for the whole program.
std::vector<std::string> TypesOf(const std::string& text) {
  std::vector<std::string> types;
  std::vector<Scope> open;
  std::vector<std::string> statement;
  for (const std::string& token : TokensOf(text)) {
    if (token == "{") {
      const Scope scope = ScopeOf(statement);
      std::string place;
      bool is_shared = scope.kind == Scope::kType && !scope.name.empty();
      for (const Scope& outer : open) {
        is_shared = is_shared && outer.kind == Scope::kNamespace && !outer.name.empty();
        place += outer.name + "::";
      }
      if (is_shared) types.push_back(place + scope.name);
      open.push_back(scope);
    }
    if (token == "}" && !open.empty()) open.pop_back();
    if (token == "{" || token == "}" || token == ";") {
      statement.clear();
    } else {
      statement.push_back(token);
    }
  }
  return types;
}

// Maps each type to the files that define it. Test programs are per folder, so they are left out.
std::map<std::string, std::vector<std::string>> Definitions(const fs::path& root) {
  std::map<std::string, std::vector<std::string>> files;
  for (const char* folder : {"common", "client", "server", "tests/support"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      std::ifstream stream(entry.path());
      const std::string text{std::istreambuf_iterator<char>(stream), {}};
      for (const std::string& type : TypesOf(text)) {
        files[type].push_back(fs::relative(entry.path(), root));
      }
    }
  }
  return files;
}

TEST(OneDefinitionTest, EveryTypeIsDefinedInOneFile) {
  const auto definitions = Definitions(std::getenv("COPPICE_SOURCE_DIR"));
  EXPECT_GT(definitions.size(), 300u);
  EXPECT_EQ(definitions.count("coppice::Schema"), 1u);
  for (const auto& [type, files] : definitions) {
    EXPECT_EQ(files.size(), 1u) << type << " is defined in " << ::testing::PrintToString(files)
                                << ": rename one, or put it into an anonymous namespace";
  }
}

TEST(OneDefinitionTest, TypesAreFoundWhereTheProgramSeesThem) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(TypesOf("namespace a { struct B { struct C {}; }; enum class D : int { kE }; }"),
            (Names{"a::B", "a::D"}));
  EXPECT_EQ(TypesOf("namespace a::b { template <class T, typename U> class C final : D<T> {}; }"),
            Names{"a::b::C"});
  EXPECT_EQ(TypesOf("template <> struct Hash<int> {};"), Names{"Hash<int>"});
  EXPECT_EQ(TypesOf("class A::B final : public c::D {};"), Names{"A::B"});
  EXPECT_EQ(TypesOf("namespace { struct A {}; } void F() { struct B {}; }"), Names{});
  EXPECT_EQ(TypesOf("struct A; struct B F() { return {}; } // struct C {\n/* struct D { */"),
            Names{});
  EXPECT_EQ(TypesOf("auto s = \"{ struct A {\"; auto r = R\"x(struct B {)x\"; struct C {};"),
            Names{"C"});
  EXPECT_EQ(TypesOf("#define A struct B { \\\n };\nint million = 1'000'000; struct C {};"),
            Names{"C"});
}

}  // namespace
