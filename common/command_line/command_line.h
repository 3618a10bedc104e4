// The command line of a program: its commands, their flags, what is wrong usage, and how it exits.
//
// Every program also has the commands `completion` and `manual`, made from the others.
//
// CLI11 reads the line. Its headers cost seconds in each source that includes them, so only sources
// beside this header do.

#ifndef COPPICE_COMMON_COMMAND_LINE_COMMAND_LINE_H_
#define COPPICE_COMMON_COMMAND_LINE_COMMAND_LINE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace coppice {

// Empty if `text` will do, otherwise what is wanted instead: "wants KEY=VALUE". The error says what
// was given.
using FlagCheck = std::function<std::string(const std::string& text)>;

// A flag that a command has. A handle: copies are the same flag.
class Flag {
 public:
  explicit Flag(CLI::Option& option) : option_(&option) {}

  Flag Required(bool required = true) const;
  // Help says the value that the flag has without being given.
  Flag ShowDefault() const;
  // What help calls the value: "FILE".
  Flag Takes(const std::string& value_name) const;
  // The same, of what `check` lets through.
  Flag Check(FlagCheck check, const std::string& value_name = "") const;
  // Both ends belong to it. For int, uint32_t, uint64_t and double.
  template <typename Number>
  Flag InRange(Number min, Number max) const;
  Flag Positive() const;
  Flag OneOf(const std::vector<std::string>& names) const;
  Flag ExistingFile() const;
  // Several values at once: "1,2,4".
  Flag SplitAt(char delimiter) const;
  Flag Needs(Flag other) const;
  Flag Excludes(Flag other) const;
  // The variable that gives the value where the command line does not.
  Flag FromEnvironment(absl::string_view variable) const;
  // The heading that help lists it under.
  Flag InGroup(const std::string& heading) const;

  // Whether the line, or the environment, gave it.
  bool IsGiven() const;
  std::string name() const;
  // What the line is told if it must have the flag and does not.
  absl::Status MissingError() const;

 private:
  CLI::Option* option_;
};

// A command ("study create"), or a group of them ("study"). A handle: copies are the same command.
// What it is given by reference must outlive the parsing of the line.
class Command {
 public:
  // `example`, a whole command line, is the end of the command's help if there is one.
  Command AddCommand(const std::string& name, const std::string& description,
                     const std::string& example) const;

  // A flag with one value or, for vectors, one and more. `value` is what it is without the flag.
  // For std::string, uint32_t, uint64_t, double, vectors of these, and optional uint32_t and
  // uint64_t.
  template <typename Value>
  Flag Add(const std::string& flag, Value& value, const std::string& description) const;
  // A flag whose value, once checked, `take` is given. For std::string, uint32_t and uint64_t.
  template <typename Value = std::string>
  Flag AddTaken(const std::string& flag, std::function<void(const Value&)> take,
                const std::string& description) const;
  // A flag without a value.
  Flag AddSwitch(const std::string& flag, bool& value, const std::string& description) const;
  Flag AddSwitch(const std::string& flag, std::function<void()> given,
                 const std::string& description) const;

  // A heading for flags that are added to what is returned: the line must give exactly one of them.
  Command AddExactlyOneOf(const std::string& heading) const;

  // Flags that do not go together are wrong usage: then `check`, which is asked once the line is
  // read, returns an error that names them.
  void CheckFlags(std::function<absl::Status()> check) const;
  // What the command does. `check` as above, asked last.
  void Run(std::function<absl::Status()> run, std::function<absl::Status()> check = {}) const;

 private:
  friend class CommandLine;
  Command(CLI::App& app, std::function<absl::Status()>& chosen) : app_(&app), chosen_(&chosen) {}

  CLI::App* app_;
  std::function<absl::Status()>* chosen_;  // what the line asks to run
};

// The whole line.
class CommandLine {
 public:
  // "coppice 0.2.0" is what --version prints.
  CommandLine(const std::string& program, const std::string& version,
              const std::string& description);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // A command as above, or a group of them, whose help points to its first one.
  Command AddCommand(const std::string& name, const std::string& description,
                     const std::string& example);
  Command AddGroup(const std::string& name, const std::string& description);
  // The end of the program's own help.
  void SetExample(const std::string& example);

  // Reads the line and runs the command that it names. Returns the exit code: 0, done; 1, failed,
  // with a line on stderr that says why; 2, wrong usage, with a line on stderr that names the flag
  // and what it wants, or the known word that is nearest to one that is not. With --json the error
  // is on stdout too, as JsonError(), unless the command has printed a result, which says it then.
  int Run(int argc, const char* const* argv);

 private:
  // Once, after all others, so that help lists them last.
  void AddReferenceCommands();

  std::string program_;
  std::string version_;
  std::unique_ptr<CLI::App> app_;
  std::function<absl::Status()> chosen_;
  bool has_reference_commands_ = false;
};

// {"error":{"code":"NOT_FOUND","message":"..."}}, without control characters.
std::string JsonError(const absl::Status& status);

// Whether `descriptor` is a terminal that shows colors, and NO_COLOR is not set.
bool UsesColor(int descriptor);
// "program: ", the beginning of each error on stderr.
std::string ErrorPrefix(const std::string& program);

// A flag that takes one of a few names.
template <typename Value, typename Target>
Flag AddChoice(const Command& command, const std::string& flag, Target& value,
               const std::map<std::string, Value>& choices, const std::string& description) {
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices) names.push_back(name);
  return command
      .AddTaken<std::string>(
          flag, [&value, choices](const std::string& name) { value = choices.at(name); },
          description)
      .OneOf(names);
}

}  // namespace coppice

#endif  // COPPICE_COMMON_COMMAND_LINE_COMMAND_LINE_H_
