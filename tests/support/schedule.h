// What schedules of faults have in common: a table says of each kind of step how it is written, how
// often it comes and what numbers it has; steps are drawn by it, printed and parsed.
//
// A schedule's text is its steps with their numbers, separated by commas: "offer 3, send_unheard 3,
// kill 2, start". Parse() reads what ToText() prints, so one line replays a failure. The same
// generator draws the same steps.

#ifndef COPPICE_TESTS_SUPPORT_SCHEDULE_H_
#define COPPICE_TESTS_SUPPORT_SCHEDULE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::testing {

template <typename Kind, size_t kNumbers>
struct ScheduledStep {
  Kind kind{};
  std::array<uint32_t, kNumbers> numbers{};

  friend bool operator==(const ScheduledStep&, const ScheduledStep&) = default;
};

// One row of the table.
template <size_t kNumbers>
struct StepFacts {
  std::string_view name;
  uint32_t weight = 0;                      // how often it comes, against the others
  bool is_fault = false;                    // may be left out of a schedule
  std::array<uint32_t, kNumbers> bounds{};  // its numbers lie below them; 0: no such number
};

inline uint32_t DrawBelow(uint32_t bound, std::mt19937_64& random) {
  return static_cast<uint32_t>(random() % bound);
}

// The kinds of steps of one sort of schedule. The rows are in the order of `Kind`.
template <typename Kind, size_t kNumKinds, size_t kNumbers>
class StepTable {
 public:
  using Step = ScheduledStep<Kind, kNumbers>;
  using Schedule = std::vector<Step>;
  using Rows = std::array<StepFacts<kNumbers>, kNumKinds>;

  constexpr explicit StepTable(const Rows& rows) : rows_(rows) {}

  const StepFacts<kNumbers>& FactsOf(Kind kind) const { return rows_[static_cast<size_t>(kind)]; }

  // The weights of one schedule. Half of the faults, at random, have none, so that the others are
  // tried together more often.
  std::array<uint32_t, kNumKinds> DrawWeights(std::mt19937_64& random) const {
    std::array<uint32_t, kNumKinds> weights{};
    for (size_t i = 0; i < kNumKinds; ++i) {
      weights[i] = rows_[i].is_fault && DrawBelow(2, random) == 0 ? 0 : rows_[i].weight;
    }
    return weights;
  }

  // A step of this kind with numbers at random.
  Step Draw(Kind kind, std::mt19937_64& random) const {
    Step step{.kind = kind, .numbers = {}};
    for (size_t i = 0; i < kNumbers; ++i) {
      if (const uint32_t bound = FactsOf(kind).bounds[i]; bound > 0) {
        step.numbers[i] = DrawBelow(bound, random);
      }
    }
    return step;
  }

  std::string ToText(const Step& step) const {
    const StepFacts<kNumbers>& facts = FactsOf(step.kind);
    std::string text(facts.name);
    for (size_t i = 0; i < kNumbers; ++i) {
      if (facts.bounds[i] > 0) StrAppend(&text, " ", step.numbers[i]);
    }
    return text;
  }
  std::string ToText(absl::Span<const Step> schedule) const {
    std::string text;
    for (const Step& step : schedule) {
      StrAppend(&text, text.empty() ? "" : ", ", ToText(step));
    }
    return text;
  }

  // InvalidArgument that names the step.
  StatusOr<Schedule> Parse(std::string_view text) const {
    Schedule schedule;
    for (const std::string_view part : StrSplit(text, ',', SkipEmpty())) {
      if (StripAsciiWhitespace(part).empty()) continue;
      const StatusOr<Step> step = ParseStep(part);
      if (!step.ok()) return step.status();
      schedule.push_back(*step);
    }
    return schedule;
  }

 private:
  StatusOr<Step> ParseStep(std::string_view text) const {
    const std::vector<std::string> words = StrSplit(text, ' ', SkipEmpty());
    const auto bad = [&](std::string_view why) {
      return InvalidArgumentError(StrCat("step '", text, "': ", why));
    };
    if (words.empty()) return bad("is empty");
    const auto found = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const auto& facts) { return facts.name == words[0]; });
    if (found == rows_.end()) return bad("there is no such step");
    Step step{.kind = static_cast<Kind>(found - rows_.begin()), .numbers = {}};
    for (size_t i = 0; i < kNumbers; ++i) {
      if (found->bounds[i] == 0) continue;
      if (i + 1 >= words.size() || !SimpleAtoi(words[i + 1], &step.numbers[i]) ||
          step.numbers[i] >= found->bounds[i]) {
        return bad(StrCat("number ", i + 1, " must be below ", found->bounds[i]));
      }
    }
    return step;
  }

  Rows rows_;
};

// Takes out steps and lowers numbers while `fails` holds of what is left. `fails` must hold of
// `schedule`; it is asked at most `tries` times.
template <typename Step>
std::vector<Step> Shrink(
    std::vector<Step> schedule, size_t tries,
    absl::FunctionRef<bool(absl::Span<const std::type_identity_t<Step>>)> fails) {
  const auto still_fails = [&](const std::vector<Step>& smaller) {
    if (tries == 0) return false;
    --tries;
    return fails(smaller);
  };
  for (size_t width = schedule.size() / 2; width > 0; width /= 2) {
    for (size_t at = 0; at + width <= schedule.size();) {
      std::vector<Step> smaller = schedule;
      smaller.erase(smaller.begin() + static_cast<std::ptrdiff_t>(at),
                    smaller.begin() + static_cast<std::ptrdiff_t>(at + width));
      if (still_fails(smaller)) {
        schedule = std::move(smaller);
      } else {
        at += width;
      }
    }
  }
  for (size_t at = 0; at < schedule.size(); ++at) {
    for (size_t i = 0; i < schedule[at].numbers.size(); ++i) {
      std::vector<Step> smaller = schedule;
      uint32_t& number = smaller[at].numbers[i];
      if (number == 0) continue;
      number = 0;
      if (still_fails(smaller)) schedule = std::move(smaller);
    }
  }
  return schedule;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_SCHEDULE_H_
