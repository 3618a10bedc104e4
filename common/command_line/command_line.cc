#include "common/command_line/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <streambuf>
#include <string_view>
#include <type_traits>
#include <utility>

#include <CLI/CLI.hpp>

#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/command_line/help.h"
#include "common/command_line/reference.h"

namespace coppice {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

void ThrowUnlessOk(const Status& usage) {
  if (!usage.ok()) throw CLI::ValidationError(std::string(usage.message()));
}

// The command that was being read, for the hint in the error.
std::string Invoked(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    return StrCat(" ", command->get_name(), Invoked(*command));
  }
  return "";
}

std::string Quoted(const std::string& text) { return StrCat("\"", text, "\""); }

std::string ExampleText(const std::string& example) { return "Example:\n  " + example; }

// CLI11 only names the first required flag that is missing; this also says what the flag is.
std::string MissingText(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_required() && option->count() == 0) return MissingFlagText(*option);
  }
  for (const CLI::App* command : app.get_subcommands()) {
    const std::string missing = MissingText(*command);
    if (!missing.empty()) return missing;
  }
  return "";
}

Status WrongUsage(const CLI::App& app, std::string_view problem) {
  const bool ended = EndsWith(problem, "?") || EndsWith(problem, ".");
  return InvalidArgumentError(
      StrCat(problem, ended ? "" : ".", " See `", app.get_name(), Invoked(app), " --help`."));
}

std::string ProblemOf(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = UnknownWordText(app);
  if (text.empty() && error.get_name() == "RequiredError") text = MissingText(app);
  if (text.empty() && error.get_name() == "RequiredError") text = MissingWordText(app);
  return text.empty() ? error.what() : text;
}

bool IsJsonAsked(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) return true;
  }
  return false;
}

// Observes whether anything is written to std::cout during its lifetime.
class StdoutWatch : public std::streambuf {
 public:
  StdoutWatch() : stdout_(std::cout.rdbuf(this)) {}
  ~StdoutWatch() override { std::cout.rdbuf(stdout_); }
  bool written() const { return written_; }

 protected:
  int overflow(int byte) override {
    written_ = true;
    return stdout_->sputc(static_cast<char>(byte));
  }
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    written_ = written_ || count > 0;
    return stdout_->sputn(bytes, count);
  }
  int sync() override { return stdout_->pubsync(); }

 private:
  std::streambuf* const stdout_;
  bool written_ = false;
};

// Prints one line on stderr, and with --json an object on stdout.
void PrintError(const std::string& program, const Status& status, bool json) {
  const std::string message = Printable(status.message());
  std::cerr << ErrorPrefix(program) << message << std::endl;
  if (json) std::cout << JsonError(status) << std::endl;
}

}  // namespace

std::string ErrorPrefix(const std::string& program) {
  const bool red = UsesColor(STDERR_FILENO);
  return StrCat(red ? "\033[31m" : "", program, ":", red ? "\033[0m " : " ");
}

bool UsesColor(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool wanted = no_color == nullptr || *no_color == 0;
  const bool able = terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
  return wanted && able && isatty(descriptor) == 1;
}

std::string JsonError(const Status& status) {
  // Printable text has no control characters, so only these two need escaping.
  const std::string message =
      StrReplaceAll(Printable(status.message()), {{"\\", "\\\\"}, {"\"", "\\\""}});
  return StrCat("{\"error\":{\"code\":\"", StatusCodeName(status.code()), "\",\"message\":\"",
                message, "\"}}");
}

// ---- Flag

Flag Flag::Required(bool required) const {
  option_->required(required);
  return *this;
}

Flag Flag::ShowDefault() const {
  option_->capture_default_str();
  return *this;
}

Flag Flag::Takes(const std::string& value_name) const {
  option_->type_name(value_name);
  return *this;
}

Flag Flag::Check(FlagCheck check, const std::string& value_name) const {
  if (!value_name.empty()) option_->type_name(value_name);
  option_->check(CLI::Validator(
      [check = std::move(check)](const std::string& text) {
        const std::string wants = check(text);
        if (wants.empty() || StrContains(wants, Quoted(text))) return wants;
        return StrCat(wants, ", not ", Quoted(text));
      },
      ""));
  return *this;
}

template <typename Number>
Flag Flag::InRange(Number min, Number max) const {
  const auto check = [min, max, range = CLI::Range(min, max)](const std::string& text) {
    return range(text).empty() ? "" : StrCat("needs a number from ", min, " to ", max);
  };
  return Check(check, StrCat(min, "..", max));
}

template Flag Flag::InRange(int, int) const;
template Flag Flag::InRange(uint32_t, uint32_t) const;
template Flag Flag::InRange(uint64_t, uint64_t) const;
template Flag Flag::InRange(double, double) const;

Flag Flag::Positive() const {
  const auto check = [](const std::string& text) {
    return CLI::PositiveNumber(text).empty() ? "" : "needs a number above 0";
  };
  return Check(check, "NUMBER");
}

Flag Flag::OneOf(const std::vector<std::string>& names) const {
  const auto check = [names](const std::string& text) {
    if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
    return StrCat("needs one of ", StrJoin(names, ", "));
  };
  return Check(check, StrCat("{", StrJoin(names, ","), "}"));
}

Flag Flag::ExistingFile() const {
  const auto check = [](const std::string& path) {
    return CLI::ExistingFile(path).empty() ? "" : "needs an existing file";
  };
  return Check(check, "FILE");
}

Flag Flag::SplitAt(char delimiter) const {
  option_->delimiter(delimiter);
  return *this;
}

Flag Flag::Needs(Flag other) const {
  option_->needs(other.option_);
  return *this;
}

Flag Flag::Excludes(Flag other) const {
  option_->excludes(other.option_);
  return *this;
}

Flag Flag::FromEnvironment(std::string_view variable) const {
  option_->envname(std::string(variable));
  return *this;
}

Flag Flag::InGroup(const std::string& heading) const {
  option_->group(heading);
  return *this;
}

Flag Flag::ForResearch() const { return InGroup(kResearchHeading); }

bool Flag::IsGiven() const { return option_->count() > 0; }

std::string Flag::name() const { return option_->get_name(); }

Status Flag::MissingError() const { return InvalidArgumentError(MissingFlagText(*option_)); }

// ---- Command

Command Command::AddCommand(const std::string& name, const std::string& description,
                            const std::string& example) const {
  CLI::App* command = app_->add_subcommand(name, description);
  // Also where there is none: CLI11 hands a command the example of its program.
  command->footer(example.empty() ? "" : ExampleText(example));
  return Command(*command, *chosen_);
}

namespace {

template <typename Number>
std::string CheckNumber(const std::string& text) {
  Number number = 0;
  if (CLI::detail::lexical_cast(text, number)) return "";
  return std::is_integral_v<Number> ? "needs a whole number" : "needs a number";
}

// The type that a flag holds: `Value` itself, or the element of a vector or an optional.
template <typename Value>
struct ElementOf {
  using Type = Value;
};
template <typename Element>
struct ElementOf<std::vector<Element>> {
  using Type = Element;
};
template <typename Element>
struct ElementOf<std::optional<Element>> {
  using Type = Element;
};

template <typename Value>
Flag CheckedFlag(CLI::Option& option) {
  using Element = typename ElementOf<Value>::Type;
  if constexpr (std::is_arithmetic_v<Element>) {
    return Flag(option).Check(CheckNumber<Element>, std::is_integral_v<Element> ? "N" : "NUMBER");
  }
  return Flag(option);
}

}  // namespace

template <typename Value>
Flag Command::Add(const std::string& flag, Value& value, const std::string& description) const {
  return CheckedFlag<Value>(*app_->add_option(flag, value, description));
}

template Flag Command::Add(const std::string&, std::string&, const std::string&) const;
template Flag Command::Add(const std::string&, uint32_t&, const std::string&) const;
template Flag Command::Add(const std::string&, uint64_t&, const std::string&) const;
template Flag Command::Add(const std::string&, double&, const std::string&) const;
template Flag Command::Add(const std::string&, std::vector<std::string>&, const std::string&) const;
template Flag Command::Add(const std::string&, std::vector<uint32_t>&, const std::string&) const;
template Flag Command::Add(const std::string&, std::vector<uint64_t>&, const std::string&) const;
template Flag Command::Add(const std::string&, std::vector<double>&, const std::string&) const;
template Flag Command::Add(const std::string&, std::optional<uint32_t>&, const std::string&) const;
template Flag Command::Add(const std::string&, std::optional<uint64_t>&, const std::string&) const;
template Flag Command::Add(const std::string&, std::optional<double>&, const std::string&) const;

template <typename Value>
Flag Command::AddTaken(const std::string& flag, std::function<void(const Value&)> take,
                       const std::string& description) const {
  return CheckedFlag<Value>(*app_->add_option_function<Value>(flag, take, description));
}

template Flag Command::AddTaken(const std::string&, std::function<void(const std::string&)>,
                                const std::string&) const;
template Flag Command::AddTaken(const std::string&,
                                std::function<void(const std::vector<std::string>&)>,
                                const std::string&) const;
template Flag Command::AddTaken(const std::string&, std::function<void(const uint32_t&)>,
                                const std::string&) const;
template Flag Command::AddTaken(const std::string&, std::function<void(const uint64_t&)>,
                                const std::string&) const;

Flag Command::AddSwitch(const std::string& flag, bool& value,
                        const std::string& description) const {
  return Flag(*app_->add_flag(flag, value, description));
}

Flag Command::AddSwitch(const std::string& flag, std::function<void()> given,
                        const std::string& description) const {
  return Flag(*app_->add_flag_callback(flag, std::move(given), description));
}

Command Command::AddExactlyOneOf(const std::string& heading) const {
  CLI::App* group = app_->add_option_group(heading);
  group->require_option(1);
  return Command(*group, *chosen_);
}

void Command::CheckFlags(std::function<Status()> check) const {
  app_->parse_complete_callback([check = std::move(check)] { ThrowUnlessOk(check()); });
}

void Command::Run(std::function<Status()> run, std::function<Status()> check) const {
  app_->callback([chosen = chosen_, run = std::move(run), check = std::move(check)] {
    if (check) ThrowUnlessOk(check());
    *chosen = run;
  });
}

// ---- CommandLine

CommandLine::CommandLine(const std::string& program, const std::string& version,
                         const std::string& description)
    : program_(program), version_(version), app_(std::make_unique<CLI::App>(description, program)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::AddCommand(const std::string& name, const std::string& description,
                                const std::string& example) {
  return Command(*app_, chosen_).AddCommand(name, description, example);
}

Command CommandLine::AddGroup(const std::string& name, const std::string& description) {
  CLI::App* group = app_->add_subcommand(name, description);
  group->require_subcommand(1);
  return Command(*group, chosen_);
}

void CommandLine::SetExample(const std::string& example) { app_->footer(ExampleText(example)); }

void CommandLine::AddReferenceCommands() {
  if (std::exchange(has_reference_commands_, true)) return;
  const Command group = AddGroup("completion", "Shell completion scripts");
  for (const std::string& shell : CompletionShells()) {
    const std::string of_shell = StrCat(program_, " completion ", shell);
    group
        .AddCommand(
            shell, StrCat("Print the script for ", shell),
            shell == "fish" ? StrCat(of_shell, " | source") : StrCat("source <(", of_shell, ")"))
        .Run([this, shell] {
          std::cout << CompletionScript(DescribeProgram(*app_), shell) << std::flush;
          return OkStatus();
        });
  }
  AddCommand("manual", "Print this program's manual page, for man",
             StrCat(program_, " manual | man -l -"))
      .Run([this] {
        std::cout << ManualPage(DescribeProgram(*app_), version_) << std::flush;
        return OkStatus();
      });
}

int CommandLine::Run(int argc, const char* const* argv) {
  AddReferenceCommands();
  for (CLI::App* group : app_->get_subcommands({})) {
    // Flags of which one must be given are a command without a name.
    const std::vector<CLI::App*> commands = group->get_subcommands(
        [](const CLI::App* command) { return !command->get_name().empty(); });
    if (commands.empty()) continue;
    group->footer(ExampleText(
        StrCat(program_, " ", group->get_name(), " ", commands.front()->get_name(), " --help")));
  }
  SetHelp(*app_, argc, argv);
  const bool json = IsJsonAsked(argc, argv);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    const std::string unknown = UnknownCommandText(*app_);
    if (unknown.empty()) return app_->exit(help_or_version, std::cout, std::cerr);
    PrintError(program_, WrongUsage(*app_, unknown), json);
    return kWrongUsage;
  } catch (const CLI::ParseError& error) {
    PrintError(program_, WrongUsage(*app_, ProblemOf(*app_, error)), json);
    return kWrongUsage;
  }
  Status status;
  bool has_result = false;
  {
    const StdoutWatch watch;
    status = chosen_();
    has_result = watch.written();
  }
  if (status.ok()) return kDone;
  PrintError(program_, status, json && !has_result);
  return kFailed;
}

}  // namespace coppice
