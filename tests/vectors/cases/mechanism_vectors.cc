// The report of each mechanism about a row, a ticket and a stream of random bytes.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "absl/numeric/int128.h"
#include "common/base/text.h"
#include "common/ldp/keep_rate.h"
#include "common/ldp/symbol_response.h"
#include "common/privacy/exp_bound.h"
#include "common/privacy/openssl_random.h"
#include "tests/vectors/vectors.h"

namespace coppice::vectors {
namespace {

constexpr uint64_t kAnyWord = 1 << 16;

// Units: epsilon in nano-epsilons; `start` counts the 16-bit words drawn before.
struct Case {
  uint64_t epsilon_nanos = 0;
  Domain domain;
  std::string seed;
  std::string prefix{};
  size_t start = 0;
};

void AppendWord(std::string& bytes, uint64_t word) {
  bytes.push_back(static_cast<char>(word & 0xff));
  bytes.push_back(static_cast<char>((word >> 8) & 0xff));
}

bool HidesNumbers(MechanismKind kind) { return kind == MechanismKind::kWindowResponse; }

// A number at an end, or anywhere between them.
double PlaceOf(uint64_t number) {
  constexpr uint64_t kEvery = 7;
  if (number % kEvery < 2) return static_cast<double>(number % kEvery);
  return std::fmod(0.61803398875 * static_cast<double>(number), 1);
}

// The row and the ticket follow from the number of cases before.
Json Run(MechanismKind kind, const Case& one, uint64_t number) {
  const auto mechanism =
      *MakeLocalMechanism(kind, *Budget::FromNanos(one.epsilon_nanos), one.domain);
  const LeafLabel row = {.leaf = static_cast<uint32_t>((7 * number + 3) % one.domain.leaves),
                         .label = static_cast<uint32_t>(number % one.domain.classes)};
  const Ticket ticket = NumberedTicket(number);
  const FixedStream stream(one.prefix, one.seed);
  OpenSslRandom random;
  for (size_t i = 0; i < one.start; ++i) random.UniformBelow(kAnyWord).value();
  const uint32_t column = DrawOf(ticket).Column(mechanism->columns());
  std::string payload;
  const Status made = HidesNumbers(kind)
                          ? mechanism->RandomizeNumber({.leaf = 0, .place = PlaceOf(number)},
                                                       column, random, payload)
                          : mechanism->Randomize(row, column, random, payload);
  if (!made.ok()) std::abort();
  const uint64_t next = *random.UniformBelow(kAnyWord);
  Json json = {{"epsilon_nanos", one.epsilon_nanos},
               {"leaves", one.domain.leaves},
               {"classes", one.domain.classes}};
  if (HidesNumbers(kind)) {
    json["reach"] = mechanism->window()->reach;
    json["half_width"] = mechanism->window()->half_width;
    json["place"] = PlaceOf(number);
  } else {
    json["leaf"] = row.leaf;
    json["label"] = row.label;
  }
  json["ticket"] = Hex(ticket.ToBytes());
  json["column"] = column;
  if (!one.prefix.empty()) json["prefix"] = Hex(one.prefix);
  json["seed"] = Hex(one.seed);
  if (one.start > 0) json["start"] = one.start;
  json["payload"] = Hex(payload);
  json["next_word"] = next;
  return json;
}

std::string SeedOf(uint64_t number) {
  std::string seed;
  AppendWord(seed, number);
  return seed;
}

Domain DomainFor(MechanismKind kind, Domain domain) {
  if (kind == MechanismKind::kSignedHadamard) domain.classes = 2;
  if (HidesNumbers(kind)) domain = {.leaves = 1, .classes = 2, .window = domain.window};
  return domain;
}

void AddEveryday(MechanismKind kind, std::vector<Case>& cases) {
  constexpr std::array<Domain, 7> kDomains = {
      {{1, 2}, {2, 2}, {7, 2}, {5, 3}, {64, 2}, {3, 26}, {300, 2}}};
  for (const uint64_t nanos : std::vector<uint64_t>{500'000'000, 1'000'000'000, 2'500'000'000}) {
    for (const Domain& domain : kDomains) {
      for (int stream = 0; stream < 3; ++stream) {
        cases.push_back({.epsilon_nanos = nanos,
                         .domain = DomainFor(kind, domain),
                         .seed = SeedOf(cases.size())});
      }
    }
  }
}

// The extremes of what a study may ask for, a budget that is not a round number, and many cells:
// they take more words than a block holds.
void AddExtremes(MechanismKind kind, std::vector<Case>& cases) {
  for (const uint64_t nanos :
       std::vector<uint64_t>{10'000'000, 100'000'000, 1'098'612'289, 6'000'000'000}) {
    for (const Domain& domain : {Domain{2, 2}, Domain{33, 2}, Domain{11, 5}}) {
      cases.push_back({.epsilon_nanos = nanos,
                       .domain = DomainFor(kind, domain),
                       .seed = SeedOf(cases.size())});
    }
  }
  for (const Domain& domain : {Domain{2, 2}, Domain{500, 2}}) {
    cases.push_back({.epsilon_nanos = 20'000'000'000,
                     .domain = DomainFor(kind, domain),
                     .seed = SeedOf(cases.size())});
  }
  cases.push_back({.epsilon_nanos = 1'500'000'000,
                   .domain = DomainFor(kind, {5000, 2}),
                   .seed = SeedOf(cases.size())});
}

// Draws on either side of the end of a block of words, and bytes that are all the same: the longest
// rejections, and the steepest and the flattest draws.
void AddEdges(MechanismKind kind, std::vector<Case>& cases) {
  for (const size_t start : {8181, 8184, 8185, 8186, 8187, 8188, 8189}) {
    for (const Domain& domain : {Domain{9, 2}, Domain{4, 3}}) {
      cases.push_back({.epsilon_nanos = 1'000'000'000,
                       .domain = DomainFor(kind, domain),
                       .seed = SeedOf(cases.size()),
                       .start = start});
    }
  }
  for (const std::string& bytes : {std::string(80, '\xff'), std::string(80, '\0'),
                                   std::string(8, '\0') + std::string(24, '\xff'),
                                   std::string(6, '\xff') + "\x7f" + std::string(25, '\xff')}) {
    for (const Domain& domain : {Domain{3, 2}, Domain{5, 3}, Domain{40, 2}}) {
      cases.push_back({.epsilon_nanos = 800'000'000,
                       .domain = DomainFor(kind, domain),
                       .seed = SeedOf(cases.size()),
                       .prefix = bytes});
    }
  }
}

// How often the mechanism keeps what is true, of 2^62; nothing if it draws no such number.
std::optional<uint64_t> KeepRateOf(const LocalMechanism& mechanism) {
  if (const auto window = mechanism.window()) {
    return KeepRate(mechanism.epsilon(), 2 * window->half_width + 1, 2 * window->reach + 1);
  }
  const auto* const response = dynamic_cast<const SymbolResponse*>(&mechanism);
  if (response == nullptr) return std::nullopt;
  return KeepRate(mechanism.epsilon(), 1, response->symbols());
}

void AppendNumber(std::string& bytes, uint64_t number) {
  for (int i = 0; i < 4; ++i) AppendWord(bytes, number >> (16 * i));
}

// The largest number that keeps the true symbol, and the smallest that does not. A number is
// rounded before.
void AddKeepRates(MechanismKind kind, std::vector<Case>& cases) {
  for (const Domain& of_two : {Domain{6, 2}, Domain{50, 2}}) {
    const Domain domain = DomainFor(kind, of_two);
    const Budget epsilon = *Budget::FromNanos(1'200'000'000);
    const std::optional<uint64_t> rate = KeepRateOf(**MakeLocalMechanism(kind, epsilon, domain));
    if (!rate) return;
    for (const uint64_t drawn : {*rate - 1, *rate}) {
      std::string prefix;
      if (HidesNumbers(kind)) AppendNumber(prefix, 0);
      AppendNumber(prefix, drawn);
      cases.push_back({.epsilon_nanos = epsilon.nanos(),
                       .domain = domain,
                       .seed = SeedOf(cases.size()),
                       .prefix = prefix});
    }
  }
}

// The narrowest and the widest windows, and others than the best.
void AddWindows(MechanismKind kind, std::vector<Case>& cases) {
  if (!HidesNumbers(kind)) return;
  for (const Window window : {Window{1, 0}, Window{63, 0}, Window{63, 62}, Window{20, 9}}) {
    for (const uint64_t nanos : std::vector<uint64_t>{10'000'000, 2'000'000'000, 20'000'000'000}) {
      cases.push_back({.epsilon_nanos = nanos,
                       .domain = {.leaves = 1, .classes = 2, .window = window},
                       .seed = SeedOf(cases.size())});
    }
  }
}

// ratio^power / 2, with ratio = numerator / 2^32, as words after the binary point.
std::vector<uint64_t> HalvedPower(uint32_t numerator, int power) {
  absl::uint128 digits = absl::uint128(1) << 15;
  for (int i = 0; i < power; ++i) digits *= numerator;
  std::vector<uint64_t> words;
  for (int at = 2 * power; at >= 0; --at) {
    words.push_back(absl::Uint128Low64(digits >> (16 * at)) & 0xffff);
  }
  return words;
}

// The ratio of the mechanism's geometric draws, and how many its first call draws; else none.
struct FirstDraws {
  uint32_t numerator = 0;
  uint64_t count = 0;
};

FirstDraws FirstDrawsOf(MechanismKind kind, const Budget& epsilon, const Domain& domain) {
  const uint64_t cells = domain.cells();
  const auto of_laplace = [&](uint64_t sensitivity) {
    return FirstDraws{DecayRatio(epsilon, sensitivity), std::min<uint64_t>(cells, 512)};
  };
  const auto of_unary = [&](uint64_t divisor) {
    const uint64_t lies = LieRate(epsilon, divisor);
    return FirstDraws{static_cast<uint32_t>((uint64_t{1} << 32) - lies),
                      std::min<uint64_t>(32, ((cells * lies) >> 32) + 1)};
  };
  if (kind == MechanismKind::kLaplaceSplit) return of_laplace(4);
  if (kind == MechanismKind::kLaplaceJoint) return of_laplace(2);
  if (kind == MechanismKind::kSymmetricUnary) return of_unary(2);
  if (kind == MechanismKind::kOptimizedUnary) return of_unary(1);
  return {};
}

// First draws that equal a power of the ratio in all words but the last, or in that too.
void AddUndecided(MechanismKind kind, std::vector<Case>& cases) {
  constexpr Domain kDomain = {9, 2};
  for (const uint64_t nanos : {400'000'000, 1'700'000'000}) {
    const FirstDraws draws = FirstDrawsOf(kind, *Budget::FromNanos(nanos), kDomain);
    if (draws.count == 0) return;
    for (const int power : {1, 2}) {
      for (const int apart : {-1, 0, 1}) {
        const std::vector<uint64_t> words = HalvedPower(draws.numerator, power);
        const uint64_t sign = apart == 0 ? 0x8000 : 0;
        std::string prefix;
        AppendWord(prefix, words[0] | sign);
        for (uint64_t i = 1; i < draws.count; ++i) AppendWord(prefix, 0x1111 * i);
        for (size_t i = 1; i < words.size(); ++i) {
          AppendWord(prefix, words[i] + (i + 1 == words.size() ? static_cast<uint64_t>(apart) : 0));
        }
        cases.push_back({.epsilon_nanos = nanos,
                         .domain = kDomain,
                         .seed = SeedOf(cases.size()),
                         .prefix = prefix});
      }
    }
  }
}

VectorFile MakeFile(MechanismKind kind) {
  std::vector<Case> cases;
  AddEveryday(kind, cases);
  AddExtremes(kind, cases);
  AddEdges(kind, cases);
  AddKeepRates(kind, cases);
  AddUndecided(kind, cases);
  AddWindows(kind, cases);
  std::vector<Json> rendered;
  for (const Case& one : cases) rendered.push_back(Run(kind, one, rendered.size()));
  const std::string name(MechanismName(kind));
  const Json header = {
      {"what", "Payloads of the local mechanism `" + name +
                   "`: for a ticket, a row and a stream of random bytes, what a device sends. "
                   "Streams are for checking only, and no way to make noise"},
      {"read", "docs/protocol.md#test-vectors"},
      {"units",
       "epsilon_nanos: billionths of epsilon. ticket, prefix, seed, payload: hexadecimal. start: "
       "words of 16 bits that are drawn before. next_word: the word that is drawn after" +
           std::string(HidesNumbers(kind) ? ". place: of the number in its range, from 0 to 1"
                                          : "")},
      {"neighbours",
       HidesNumbers(kind) ? "any number for any other" : "any (leaf, label) for any other"},
      {"mechanism", name}};
  return {.name = name + ".json", .text = Render(header, {{"cases", rendered}})};
}

}  // namespace

std::vector<VectorFile> MakeMechanismVectors() {
  std::vector<VectorFile> files;
  for (const MechanismKind kind : AllMechanismKinds()) files.push_back(MakeFile(kind));
  return files;
}

}  // namespace coppice::vectors
