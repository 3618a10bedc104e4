// The command line of a program: its commands, their flags, wrong usage, and how it exits.
//
// Every program also has the commands `completion` and `manual`, made from the others.
//
// CLI11 parses the line. Its headers cost seconds in each source that includes them, so only
// sources in this folder do.

#ifndef COPPICE_COMMON_COMMAND_LINE_COMMAND_LINE_H_
#define COPPICE_COMMON_COMMAND_LINE_COMMAND_LINE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace coppice {

// Returns "" if `text` is valid, otherwise what is wanted instead: "wants KEY=VALUE". The error
// adds what was given, unless the answer quotes it.
using FlagCheck = std::function<std::string(const std::string& text)>;

// A command's flag. It is a handle: copies refer to the same flag.
class Flag {
 public:
  explicit Flag(CLI::Option& option) : option_(&option) {}

  Flag Required(bool required = true) const;
  // Makes help show the value that the flag has without being given.
  Flag ShowDefault() const;
  // Sets what help calls the value: "FILE".
  Flag Takes(const std::string& value_name) const;
  // As Takes(), and accepts only what `check` accepts.
  Flag Check(FlagCheck check, const std::string& value_name = "") const;
  // Both bounds are allowed. For int, uint32_t, uint64_t and double.
  template <typename Number>
  Flag InRange(Number min, Number max) const;
  Flag Positive() const;
  Flag OneOf(const std::vector<std::string>& names) const;
  Flag ExistingFile() const;
  // Accepts several values at once: "1,2,4".
  Flag SplitAt(char delimiter) const;
  Flag Needs(Flag other) const;
  Flag Excludes(Flag other) const;
  // Sets the environment variable whose value is used if the command line gives none.
  Flag FromEnvironment(std::string_view variable) const;
  // Sets the heading under which help lists the flag.
  Flag InGroup(const std::string& heading) const;
  // Leaves the flag out of help, unless that is asked for with --all. For flags that only
  // researchers touch; completion and the manual have them all.
  Flag ForResearch() const;

  // Whether the command line, or the environment, gave it.
  bool IsGiven() const;
  std::string name() const;
  // The error for a line without this flag, if the flag is required there.
  Status MissingError() const;

 private:
  CLI::Option* option_;
};

// A command ("study create"), or a group of commands ("study"). It is a handle: copies refer to the
// same command. What is passed by reference must live until the line has been parsed.
class Command {
 public:
  // `example`, a whole command line, ends the command's help unless it is empty.
  Command AddCommand(const std::string& name, const std::string& description,
                     const std::string& example) const;

  // Adds a flag with one value or, for vectors, one or more. Former names of the flag may follow
  // its name, "--local-epsilon,--epsilon0": they are accepted, and mentioned nowhere. `value` keeps
  // its content without the flag. For std::string, uint32_t, uint64_t, double, vectors of these,
  // and optional numbers.
  template <typename Value>
  Flag Add(const std::string& flag, Value& value, const std::string& description) const;
  // Adds a flag whose checked value is passed to `take`. For std::string, uint32_t, uint64_t and
  // several std::string.
  template <typename Value = std::string>
  Flag AddTaken(const std::string& flag, std::function<void(const Value&)> take,
                const std::string& description) const;
  // Adds a flag without a value.
  Flag AddSwitch(const std::string& flag, bool& value, const std::string& description) const;
  Flag AddSwitch(const std::string& flag, std::function<void()> given,
                 const std::string& description) const;

  // Adds a heading for flags that are added to the result: the line must give exactly one of them.
  Command AddExactlyOneOf(const std::string& heading) const;

  // Runs `check` once the line has been read. An error, which must name the flags, is wrong usage.
  void CheckFlags(std::function<Status()> check) const;
  // Sets what the command does. `check` is as above, and runs last.
  void Run(std::function<Status()> run, std::function<Status()> check = {}) const;

 private:
  friend class CommandLine;
  Command(CLI::App& app, std::function<Status()>& chosen) : app_(&app), chosen_(&chosen) {}

  CLI::App* app_;
  std::function<Status()>* chosen_;  // what the line asks to run
};

// The whole command line of a program.
class CommandLine {
 public:
  // --version prints "coppice 0.2.0".
  CommandLine(const std::string& program, const std::string& version,
              const std::string& description);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Adds a command as above, or a group of commands whose help points to its first one.
  Command AddCommand(const std::string& name, const std::string& description,
                     const std::string& example);
  Command AddGroup(const std::string& name, const std::string& description);
  // Sets the end of the program's own help.
  void SetExample(const std::string& example);

  // Reads the line and runs the command that it names. Returns the exit code: 0, done; 1, failed,
  // with a line on stderr that says why; 2, wrong usage, with a line on stderr that names the flag
  // and what it wants, or the known word nearest to an unknown one. With --json the error is on
  // stdout too, as JsonError(), unless the command has printed a result, which then reports it.
  int Run(int argc, const char* const* argv);

 private:
  // Runs once, after all other additions, so that help lists these commands last.
  void AddReferenceCommands();

  std::string program_;
  std::string version_;
  std::unique_ptr<CLI::App> app_;
  std::function<Status()> chosen_;
  bool has_reference_commands_ = false;
};

// Returns {"error":{"code":"NOT_FOUND","message":"..."}}, without control characters.
std::string JsonError(const Status& status);

// Whether `descriptor` is a terminal that shows colors and NO_COLOR is not set.
bool UsesColor(int descriptor);
// Returns "program: ", which begins each error on stderr.
std::string ErrorPrefix(const std::string& program);

// Adds a flag that takes one of a few names.
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
