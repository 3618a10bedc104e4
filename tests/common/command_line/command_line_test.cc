#include "common/command_line/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace coppice {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Outcome {
  int code;
  std::string out, err;
};

// A program with one group, `noun`, which has one command, `verb`.
class CommandLineTest : public ::testing::Test {
 protected:
  Outcome Run(const std::vector<std::string>& arguments) {
    std::vector<const char*> argv = {"program"};
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = line_.Run(static_cast<int>(argv.size()), argv.data());
    return {code, ::testing::internal::GetCapturedStdout(),
            ::testing::internal::GetCapturedStderr()};
  }

  CommandLine line_{"program", "program 1.0", "What it is for."};
  const Command noun_ = line_.AddGroup("noun", "Things");
  const Command verb_ = noun_.AddCommand("verb", "Does it", "program noun verb --number 3");
};

TEST_F(CommandLineTest, RunsTheCommandThatTheLineNames) {
  uint32_t number = 7;
  uint32_t seen = 0;
  verb_.Add("--number", number, "How many").InRange(1u, 9u).ShowDefault();
  verb_.Run([&] {
    seen = number;
    return OkStatus();
  });
  EXPECT_EQ(Run({"noun", "verb"}).code, 0);
  EXPECT_EQ(seen, 7);
  EXPECT_EQ(Run({"noun", "verb", "--number", "3"}).code, 0);
  EXPECT_EQ(seen, 3);
}

TEST_F(CommandLineTest, AFailureIsOneLineWithoutControlCharacters) {
  verb_.Run([] { return UnavailableError("nobody \033[31m answers"); });
  const Outcome failed = Run({"noun", "verb"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.out, "");
  EXPECT_EQ(failed.err, "program: nobody \xef\xbf\xbd[31m answers\n");
}

TEST_F(CommandLineTest, WrongUsageNamesTheFlagAndTheHelp) {
  uint32_t number = 0;
  std::string name;
  bool ran = false;
  verb_.Add("--number", number, "How many").InRange(1u, 9u);
  const Flag named = verb_.Add("--name", name, "Whose").Check([](const std::string& text) {
    return text == "x" ? "needs another name" : "";
  });
  verb_.CheckFlags([&] {
    return named.IsGiven() && number == 0
               ? InvalidArgumentError(named.name() + ": needs --number as well")
               : OkStatus();
  });
  verb_.Run(
      [&] {
        ran = true;
        return OkStatus();
      },
      [&] { return number == 2 ? InvalidArgumentError("--number: 2 is taken") : OkStatus(); });
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"noun", "verb", "--number", "10"},
       "program: --number: needs a number from 1 to 9, not \"10\""},
      {{"noun", "verb", "--name", "x"}, "program: --name: needs another name, not \"x\""},
      {{"noun", "verb", "--name", "y"}, "program: --name: needs --number as well"},
      {{"noun", "verb", "--number", "2"}, "program: --number: 2 is taken"}};
  for (const auto& [arguments, message] : wrong) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err, message + ". See `program noun verb --help`.\n");
    EXPECT_THAT(outcome.out, IsEmpty());
    number = 0;
  }
  EXPECT_EQ(Run({}).err,
            "program: a noun is required: noun, completion, manual. See `program --help`.\n");
  EXPECT_EQ(Run({"noun"}).code, 2);
  EXPECT_FALSE(ran);
}

TEST_F(CommandLineTest, AnUnknownWordIsAnsweredWithTheNearest) {
  std::string name, number;
  verb_.Add("--name", name, "Whose").Required();
  verb_.Add("--number", number, "Which");
  noun_.AddCommand("other", "Does another", "").Run([] { return OkStatus(); });
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"nuon", "verb"}, R"(unknown noun "nuon"; did you mean "noun"? See `program --help`.)"},
      {{"verb"}, R"(unknown noun "verb"; did you mean "noun verb"? See `program --help`.)"},
      {{"thing"},
       R"(unknown noun "thing"; there are noun, completion, manual. See `program --help`.)"},
      {{"noun", "vreb", "--name", "x"},
       R"(unknown verb "vreb"; did you mean "verb"? See `program noun --help`.)"},
      {{"noun", "frob"},
       R"(unknown verb "frob"; there are verb, other. See `program noun --help`.)"},
      {{"noun", "verb", "--nmae=x"},
       R"(unknown flag "--nmae"; did you mean "--name"? See `program noun verb --help`.)"},
      {{"noun", "verb", "--num", "1"},
       R"(unknown flag "--num"; did you mean "--number"? See `program noun verb --help`.)"},
      {{"noun", "verb", "--zzz"}, R"(unknown flag "--zzz". See `program noun verb --help`.)"},
      {{"noun", "verb", "x"},
       R"("x" does not follow a flag; give a value after its flag, such as --name TEXT.)"
       " See `program noun verb --help`."}};
  for (const auto& [arguments, message] : wrong) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err, "program: " + message + "\n");
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

// The help of the group would read as if the word were a command.
TEST_F(CommandLineTest, HelpIsNotGivenForACommandThatIsNotThere) {
  std::string name;
  verb_.Add("--name", name, "Whose").Required();
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"nuon", "--help"}, R"(unknown noun "nuon"; did you mean "noun"? See `program --help`.)"},
      {{"nuon", "--version"}, R"(unknown noun "nuon"; did you mean "noun"? See `program --help`.)"},
      {{"noun", "vreb", "--help"},
       R"(unknown verb "vreb"; did you mean "verb"? See `program noun --help`.)"},
      {{"noun", "vreb", "--name", "x", "-h"},
       R"(unknown verb "vreb"; did you mean "verb"? See `program noun --help`.)"},
      {{"completion", "bush", "--help"},
       R"(unknown verb "bush"; did you mean "bash"? See `program completion --help`.)"}};
  for (const auto& [arguments, message] : wrong) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.code, 2) << message;
    EXPECT_EQ(outcome.err, "program: " + message + "\n");
    EXPECT_THAT(outcome.out, IsEmpty());
  }
  const Outcome of_command = Run({"noun", "verb", "x", "--help"});
  EXPECT_EQ(of_command.code, 0) << "the help shows how values are given";
  EXPECT_THAT(of_command.out, HasSubstr("--name"));
}

TEST_F(CommandLineTest, AMissingFlagIsExplainedWithTheVariableThatGivesIt) {
  std::string name;
  const Flag flag =
      verb_.Add("--name", name, "Whose").FromEnvironment("COPPICE_TEST_NAME").Required();
  verb_.Run([] { return OkStatus(); });
  const std::string text = "--name is required (Whose); COPPICE_TEST_NAME can set it too";
  EXPECT_EQ(Run({"noun", "verb"}).err, "program: " + text + ". See `program noun verb --help`.\n");
  EXPECT_EQ(flag.MissingError().message(), text);
}

TEST_F(CommandLineTest, WithJsonAnErrorIsAnObjectOnStdoutUnlessThereIsAResult) {
  bool json = false;
  verb_.AddSwitch("--json", json, "For programs");
  verb_.Run([] { return NotFoundError("no \"x\"\\\n"); });
  const Outcome failed = Run({"noun", "verb", "--json"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.out, R"({"error":{"code":"NOT_FOUND","message":"no \"x\"\\)"
                        "\xef\xbf\xbd\"}}\n");
  EXPECT_EQ(failed.err, "program: no \"x\"\\\xef\xbf\xbd\n");
  verb_.Run([] {
    std::cout << "{\"serving\":false}\n";
    return NotFoundError("no");
  });
  EXPECT_EQ(Run({"noun", "verb", "--json"}).out, "{\"serving\":false}\n");
  const Outcome usage = Run({"noun", "vreb", "--json"});
  EXPECT_EQ(usage.code, 2);
  EXPECT_THAT(usage.out, HasSubstr(R"({"error":{"code":"INVALID_ARGUMENT","message":"unknown)"));
}

TEST_F(CommandLineTest, AFlagOfAFewNamesSaysWhichAndWhatWasGiven) {
  std::string format;
  verb_.Add("--format", format, "How").OneOf({"text", "svg"});
  verb_.Run([] { return OkStatus(); });
  EXPECT_THAT(Run({"noun", "verb", "--format", "pdf"}).err,
              HasSubstr(R"(--format: needs one of text, svg, not "pdf". See)"));
}

TEST_F(CommandLineTest, WhatWasGivenIsQuotedOnce) {
  std::string name;
  verb_.Add("--name", name, "Whose").Check([](const std::string& text) {
    return "there is no \"" + text + "\"; there are a, b";
  });
  EXPECT_EQ(
      Run({"noun", "verb", "--name", "x"}).err,
      "program: --name: there is no \"x\"; there are a, b. See `program noun verb --help`.\n");
}

TEST_F(CommandLineTest, CompletionAndManualNameEveryCommandAndFlag) {
  std::string format, path, number;
  verb_.Add("--format", format, "How it's written").OneOf({"text", "svg"});
  verb_.Add("--path", path, "Where").Takes("FILE").FromEnvironment("COPPICE_TEST_PATH");
  verb_.Add("--number", number, "Which").Takes("N").InGroup("Shared").Required();
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const Outcome script = Run({"completion", shell});
    EXPECT_EQ(script.code, 0);
    EXPECT_THAT(script.out, AllOf(HasSubstr("verb"), HasSubstr("format"), HasSubstr("text svg"),
                                  HasSubstr("program completion " + shell)));
  }
  const Outcome manual = Run({"manual"});
  EXPECT_EQ(manual.code, 0);
  EXPECT_THAT(manual.out,
              AllOf(HasSubstr(".TH PROGRAM 1"), HasSubstr(".SS program noun verb\nDoes it.\n"),
                    HasSubstr("\\fB\\-\\-format\\fR \\fINAME\\fR\nHow it's written.\n"
                              "One of text, svg.\n"),
                    HasSubstr("Or COPPICE_TEST_PATH.\n"), HasSubstr(".SH SHARED\n.TP\n")));
}

TEST_F(CommandLineTest, ACommandShowsAnExampleOfItsOwnOrNone) {
  line_.SetExample("program noun verb --number 1");
  line_.AddCommand("bare", "Does more", "").Run([] { return OkStatus(); });
  std::string path;
  const Command either = line_.AddCommand("either", "Does one", "program either --path x");
  either.AddExactlyOneOf("One of").Add("--path", path, "Where");
  either.Run([] { return OkStatus(); });
  EXPECT_THAT(Run({"either", "--help"}).out, HasSubstr("Example:\n  program either --path x"));
  EXPECT_THAT(Run({"--help"}).out, HasSubstr("program noun verb --number 1"));
  EXPECT_THAT(Run({"noun", "verb", "--help"}).out, HasSubstr("program noun verb --number 3"));
  EXPECT_THAT(Run({"bare", "--help"}).out, Not(HasSubstr("xample")));
}

TEST_F(CommandLineTest, HelpAndVersionAreNoErrors) {
  bool ran = false;
  verb_.Run([&] {
    ran = true;
    return OkStatus();
  });
  line_.SetExample("program noun verb");
  EXPECT_EQ(Run({"--version"}).out, "program 1.0\n");
  const Outcome help = Run({"noun", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("Example:\n  program noun verb --help"));
  EXPECT_THAT(Run({"noun", "verb", "--help"}).out,
              AllOf(HasSubstr("Does it"), HasSubstr("Example:\n  program noun verb --number 3")));
  EXPECT_FALSE(ran);
}

TEST_F(CommandLineTest, ValuesArriveAsTheirTypes) {
  std::vector<uint64_t> numbers = {5};
  std::optional<uint32_t> optional;
  uint64_t taken = 0;
  int choice = 0;
  bool given = false;
  verb_.Add("--numbers", numbers, "Some").SplitAt(',');
  verb_.Add("--optional", optional, "Perhaps");
  verb_.AddTaken<uint64_t>(
      "--taken", [&](const uint64_t& value) { taken = value; }, "One");
  AddChoice<int>(verb_, "--choice", choice, {{"one", 1}, {"two", 2}}, "Which");
  verb_.AddSwitch("--given", given, "Whether");
  verb_.Run([] { return OkStatus(); });
  EXPECT_EQ(
      Run({"noun", "verb", "--numbers", "1,2", "--taken", "3", "--choice", "two", "--given"}).code,
      0);
  EXPECT_THAT(numbers, ElementsAre(1, 2));
  EXPECT_FALSE(optional.has_value());
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(choice, 2);
  EXPECT_TRUE(given);
  EXPECT_EQ(Run({"noun", "verb", "--choice", "three"}).code, 2);
}

TEST_F(CommandLineTest, ExactlyOneOfSeveralFlags) {
  std::string a, b;
  const Command one = verb_.AddExactlyOneOf("what");
  one.Add("--a", a, "This");
  one.Add("--b", b, "Or that");
  verb_.Run([] { return OkStatus(); });
  EXPECT_EQ(Run({"noun", "verb"}).code, 2);
  EXPECT_EQ(Run({"noun", "verb", "--a", "1", "--b", "2"}).code, 2);
  EXPECT_EQ(Run({"noun", "verb", "--b", "2"}).code, 0);
}

TEST_F(CommandLineTest, TheEnvironmentGivesAFlag) {
  std::string name;
  verb_.Add("--name", name, "Whose").FromEnvironment("COPPICE_TEST_NAME").Required();
  verb_.Run([] { return OkStatus(); });
  EXPECT_EQ(Run({"noun", "verb"}).code, 2);
  setenv("COPPICE_TEST_NAME", "ann", 1);
  EXPECT_EQ(Run({"noun", "verb"}).code, 0);
  unsetenv("COPPICE_TEST_NAME");
  EXPECT_EQ(name, "ann");
}

TEST_F(CommandLineTest, HelpShowsFlagsForResearchOnlyWithAll) {
  uint32_t trees = 0;
  std::string number;
  verb_.Add("--number", number, "Which").Takes("N");
  verb_.Add("--trees", trees, "How many grow").ForResearch();
  verb_.Run([] { return OkStatus(); });
  const Outcome brief = Run({"noun", "verb", "--help"});
  EXPECT_THAT(brief.out, AllOf(HasSubstr("--number"), Not(HasSubstr("--trees")),
                               HasSubstr("`program noun verb --help --all` also shows the flags "
                                         "for research.\n\nExample:\n")));
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
           {"noun", "verb", "--help", "--all"}, {"noun", "verb", "--all", "--help"}}) {
    const Outcome whole = Run(line);
    EXPECT_EQ(whole.code, 0) << whole.err;
    EXPECT_THAT(whole.out, AllOf(HasSubstr("--number"), HasSubstr("For research:\n  --trees"),
                                 Not(HasSubstr("also shows"))));
  }
  EXPECT_EQ(Run({"noun", "--help", "--all"}).code, 0);
  EXPECT_EQ(Run({"--help", "--all"}).code, 0);
  EXPECT_EQ(Run({"noun", "verb", "--trees", "7"}).code, 0);
  EXPECT_EQ(trees, 7);
  EXPECT_THAT(Run({"noun", "verb", "--all"}).err, HasSubstr("unknown flag \"--all\""));
  EXPECT_THAT(Run({"completion", "bash"}).out, HasSubstr("--trees"));
  EXPECT_THAT(Run({"manual"}).out, AllOf(HasSubstr("For research:\n.TP\n\\fB\\-\\-trees\\fR"),
                                         Not(HasSubstr("FOR RESEARCH"))));
}

TEST_F(CommandLineTest, AcceptsAFlagByItsFormerNameButShowsThePresentOne) {
  std::string epsilon;
  const Flag flag =
      verb_.Add("--local-epsilon,--epsilon0", epsilon, "Of one report")
          .Check([](const std::string& text) { return text == "x" ? "needs a number" : ""; });
  verb_.Run([] { return OkStatus(); });
  for (const std::string name : {"--local-epsilon", "--epsilon0"}) {
    epsilon.clear();
    EXPECT_EQ(Run({"noun", "verb", name, "2"}).code, 0) << name;
    EXPECT_EQ(epsilon, "2") << name;
    EXPECT_THAT(Run({"noun", "verb", name, "x"}).err,
                HasSubstr("--local-epsilon: needs a number, not \"x\""));
  }
  EXPECT_EQ(flag.name(), "--local-epsilon");
  EXPECT_EQ(Run({"noun", "verb", "--epsilon0", "1", "--local-epsilon", "2"}).code, 2);
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"noun", "verb", "--help"},
                                             {"completion", "bash"},
                                             {"completion", "zsh"},
                                             {"completion", "fish"},
                                             {"manual"}}) {
    EXPECT_THAT(Run(line).out, AllOf(HasSubstr("epsilon"), Not(HasSubstr("epsilon0"))));
  }
}

}  // namespace
}  // namespace coppice
