#include "common/command_line/command_line.h"

#include <cstdint>
#include <iostream>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/printable.h"

namespace coppice {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

void ThrowUnlessOk(const absl::Status& usage) {
  if (!usage.ok()) throw CLI::ValidationError(std::string(usage.message()));
}

// The command that was being read, for the hint.
std::string Invoked(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    return absl::StrCat(" ", command->get_name(), Invoked(*command));
  }
  return "";
}

std::string ExampleText(const std::string& example) { return "Example:\n  " + example; }

}  // namespace

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
  option_->check(CLI::Validator(std::move(check), value_name));
  return *this;
}

template <typename Number>
Flag Flag::InRange(Number min, Number max) const {
  option_->check(CLI::Range(min, max));
  return *this;
}

template Flag Flag::InRange(int, int) const;
template Flag Flag::InRange(uint32_t, uint32_t) const;
template Flag Flag::InRange(uint64_t, uint64_t) const;
template Flag Flag::InRange(double, double) const;

Flag Flag::Positive() const {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Flag Flag::OneOf(const std::vector<std::string>& names) const {
  option_->check(CLI::IsMember(names));
  return *this;
}

Flag Flag::ExistingFile() const {
  option_->check(CLI::ExistingFile);
  return *this;
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

Flag Flag::FromEnvironment(absl::string_view variable) const {
  option_->envname(std::string(variable));
  return *this;
}

Flag Flag::InGroup(const std::string& heading) const {
  option_->group(heading);
  return *this;
}

bool Flag::IsGiven() const { return option_->count() > 0; }

std::string Flag::name() const { return option_->get_name(); }

// ---- Command

Command Command::AddCommand(const std::string& name, const std::string& description,
                            const std::string& example) const {
  CLI::App* command = app_->add_subcommand(name, description);
  if (!example.empty()) command->footer(ExampleText(example));
  return Command(*command, *chosen_);
}

template <typename Value>
Flag Command::Add(const std::string& flag, Value& value, const std::string& description) const {
  return Flag(*app_->add_option(flag, value, description));
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

template <typename Value>
Flag Command::AddTaken(const std::string& flag, std::function<void(const Value&)> take,
                       const std::string& description) const {
  return Flag(*app_->add_option_function<Value>(flag, take, description));
}

template Flag Command::AddTaken(const std::string&, std::function<void(const std::string&)>,
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

void Command::CheckFlags(std::function<absl::Status()> check) const {
  app_->parse_complete_callback([check = std::move(check)] { ThrowUnlessOk(check()); });
}

void Command::Run(std::function<absl::Status()> run, std::function<absl::Status()> check) const {
  app_->callback([chosen = chosen_, run = std::move(run), check = std::move(check)] {
    if (check) ThrowUnlessOk(check());
    *chosen = run;
  });
}

// ---- CommandLine

CommandLine::CommandLine(const std::string& program, const std::string& version,
                         const std::string& description)
    : program_(program), app_(std::make_unique<CLI::App>(description, program)) {
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

int CommandLine::Run(int argc, const char* const* argv) {
  for (CLI::App* group : app_->get_subcommands({})) {
    const std::vector<CLI::App*> commands = group->get_subcommands({});
    if (commands.empty()) continue;
    group->footer(ExampleText(absl::StrCat(program_, " ", group->get_name(), " ",
                                           commands.front()->get_name(), " --help")));
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app_->exit(help_or_version, std::cout, std::cerr);
  } catch (const CLI::ParseError& error) {
    std::cerr << program_ << ": " << error.what() << "\nSee `" << program_ << Invoked(*app_)
              << " --help`.\n";
    return kWrongUsage;
  }
  const absl::Status status = chosen_();
  if (status.ok()) return kDone;
  std::cerr << program_ << ": " << Printable(status.message()) << std::endl;
  return kFailed;
}

}  // namespace coppice
