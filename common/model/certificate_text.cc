#include "common/model/certificate_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/text.h"

namespace coppice {
namespace {

using Section = CertificateText::Section;

constexpr size_t kMaxListed = 20;
constexpr double kNearCertainty = 4;  // docs/choosing-epsilon.md
constexpr int kEpsilonDecimals = 9;   // nanos
constexpr int kDeltaDecimals = 18;    // atto
constexpr int kRhoDecimals = 12;      // pico

// Formats `units` of 10^-decimals exactly: "0.25", "1e-10".
std::string Decimal(uint64_t units, int decimals) {
  if (units == 0) return "0";
  for (; units % 10 == 0 && decimals > 0; units /= 10) --decimals;
  const std::string digits = StrCat(units);
  const int exponent = static_cast<int>(digits.size()) - 1 - decimals;
  if (exponent < -5) {
    return StrCat(digits.substr(0, 1), digits.size() > 1 ? "." : "", digits.substr(1), "e",
                  exponent);
  }
  if (decimals == 0) return digits;
  const std::string padded =
      std::string(static_cast<size_t>(std::max(0, -exponent)), '0').append(digits);
  const size_t point = padded.size() - static_cast<size_t>(decimals);
  return StrCat(padded.substr(0, point), ".", padded.substr(point));
}

std::string EpsilonAndDelta(uint64_t epsilon_nanos, uint64_t delta_atto) {
  const std::string epsilon = StrCat("ε = ", Decimal(epsilon_nanos, kEpsilonDecimals));
  return delta_atto == 0 ? epsilon : StrCat(epsilon, ", δ = ", Decimal(delta_atto, kDeltaDecimals));
}

double EpsilonOf(const Certificate& certificate) {
  return static_cast<double>(certificate.epsilon_nanos) / 1e9;
}

// ---- What was released

std::string ReleaseText(const Release& release) {
  std::string text =
      StrCat("By ", Printable(release.mechanism),
             release.times == 1 ? ", once, at " : StrCat(", ", release.times, " times, each at "),
             EpsilonAndDelta(release.epsilon_nanos, release.delta_atto));
  if (release.rho_pico > 0) {
    StrAppend(&text, " (ρ = ", Decimal(release.rho_pico, kRhoDecimals), ")");
  }
  if (!release.part.empty()) {
    StrAppend(&text, ", seeing one part of the rows (", Printable(release.part), ")");
  }
  return StrCat(text, ": ", Printable(release.what), ".");
}

Section Released(const Certificate& certificate) {
  Section section{.title = "What was released", .sentences = {}};
  const std::vector<Release>& releases = certificate.releases;
  for (size_t i = 0; i < std::min(kMaxListed, releases.size()); ++i) {
    section.sentences.push_back(ReleaseText(releases[i]));
  }
  if (releases.size() > kMaxListed) {
    section.sentences.push_back(
        StrCat("And ", releases.size() - kMaxListed,
               " releases more, which `coppice model verify --json` lists."));
  }
  if (PromiseOf(certificate) == Promise::kNone) {
    section.sentences.emplace_back("Whatever the training computed from the rows.");
    return section;
  }
  const bool parts = std::any_of(releases.begin(), releases.end(),
                                 [](const Release& release) { return !release.part.empty(); });
  section.sentences.push_back(
      StrCat("Together they cost ", CostText(certificate),
             PromiseOf(certificate) == Promise::kLocal ? " per report." : ".",
             parts ? " A row is in only one part, so only the most expensive part counts." : ""));
  section.sentences.emplace_back(
      "The model and its predictions follow from these releases and from public inputs alone: "
      "using them costs nothing more.");
  return section;
}

// ---- To whom it is private

// Adds the promise towards a curator that does not collude with the relay, and its assumptions.
void AddRelayBound(const Certificate& certificate, std::vector<std::string>& sentences) {
  const RelayBound& relay = certificate.relay;
  if (relay.epsilon_nanos == 0) return;
  sentences.push_back(StrCat("Towards a curator that does not collude with the relay of key ",
                             BytesToHexString(relay.relay_key), " it is protected with ",
                             EpsilonAndDelta(relay.epsilon_nanos, relay.delta_atto),
                             ", because that curator cannot tell which report was whose."));
  sentences.push_back(
      absl::StrFormat("That rests on the relay, which has to have dealt the curator's tickets at "
                      "random and told nobody who got which, and on %d reports of each batch being "
                      "honest: of devices that follow the protocol and tell nobody their ticket. "
                      "Of %d %s the smallest has %d accepted reports; %g %% are assumed not to be "
                      "honest. If the relay and the curator collude, only ε = %s holds.",
                      relay.honest_reports, relay.batches, relay.batches == 1 ? "batch" : "batches",
                      relay.least_accepted, relay.dishonest_millionths / 1e4,
                      Decimal(certificate.epsilon_nanos, kEpsilonDecimals)));
}

// Adds the promise towards readers of models alone, and its assumptions.
void AddReadersBound(const Certificate& certificate, std::vector<std::string>& sentences) {
  const ReadersBound& readers = certificate.readers;
  if (readers.epsilon_nanos == 0) return;
  sentences.push_back(
      StrCat("Someone who reads only models, built after the study was sealed, sees at most ",
             EpsilonAndDelta(readers.epsilon_nanos, readers.delta_atto),
             " of a device's row, because nobody can tell which report was whose."));
  sentences.push_back(absl::StrFormat(
      "That rests on the curator, who has to keep tickets and arrival times to itself and to have "
      "shown no model, count or alarm before, and on %d of the %d reports being honest: of devices "
      "that answered the first ticket they were given and told nobody which (%g %% are assumed not "
      "to be). %s",
      readers.honest_reports, certificate.reports, readers.dishonest_millionths / 1e4,
      certificate.relay.epsilon_nanos == 0
          ? "Where it fails, and towards the curator, only the ε of a report holds."
          : "Where it fails, a reader sees no more than the curator does."));
}

Section PrivateTo(const Certificate& certificate) {
  Section section{.title = "From whom rows are protected", .sentences = {}};
  std::vector<std::string>& sentences = section.sentences;
  switch (PromiseOf(certificate)) {
    case Promise::kLocal:
      sentences = {
          "Each device's row is protected from everyone, including the curator: it was randomized "
          "on the device before anything was sent.",
          "Two cases are compared: that the device's row has one value, and that it has any "
          "other."};
      AddRelayBound(certificate, sentences);
      AddReadersBound(certificate, sentences);
      break;
    case Promise::kRow:
      sentences = {
          "Each row is protected from anyone who sees the model or its predictions, but not from "
          "the curator, who has the rows.",
          "Two cases are compared: that the row is in the table, and that it is not.",
          "Two values of a row are two such steps apart: twice the ε."};
      break;
    case Promise::kLabel:
      sentences = {
          "Each row's label is protected from anyone who sees the model or its predictions, but "
          "not from the curator, who has the rows.",
          "Two cases are compared: that the row's label is one, and that it is any other. The "
          "features of all rows count as public."};
      break;
    case Promise::kNone:
      sentences = {"The rows are protected from nobody: the model was trained without privacy."};
      break;
    case Promise::kOther:
      sentences = {certificate.neighbouring.empty()
                       ? "The certificate does not say which two cases it compares."
                       : StrCat("Two cases are compared, in the certificate's words: ",
                                Printable(certificate.neighbouring), ".")};
      break;
  }
  return section;
}

// ---- What epsilon means

// Returns e^epsilon, rounded up to three digits.
std::string OddsFactor(double epsilon) {
  const double factor = std::exp(epsilon);
  if (!std::isfinite(factor)) return "more than 1e308";
  const double step = std::pow(10, std::floor(std::log10(factor)) - 2);
  const double rounded = std::ceil(factor / step) * step;
  return factor < 1e6 ? absl::StrFormat("%.*f", factor < 10 ? 2 : (factor < 100 ? 1 : 0), rounded)
                      : absl::StrFormat("%.2e", rounded);
}

// The probability after the odds of `percent` percent are multiplied by e^epsilon; rounded up.
std::string AtMost(double percent, double epsilon) {
  const double odds = percent / (100 - percent) * std::exp(epsilon);
  const double after = std::isfinite(odds) ? 100 * odds / (1 + odds) : 100;
  for (int decimals = after < 10 || after > 97 ? 2 : 0; decimals <= 8; decimals += 2) {
    const double power = std::pow(10, decimals);
    const double rounded = std::ceil(after * power) / power;
    if (rounded < 100) return absl::StrFormat("%.*f %%", decimals, rounded);
  }
  return "100 %";
}

Section Meaning(const Certificate& certificate) {
  const double epsilon = EpsilonOf(certificate);
  const std::string text = Decimal(certificate.epsilon_nanos, kEpsilonDecimals);
  Section section{.title = StrCat("What ε = ", text, " means"), .sentences = {}};
  std::vector<std::string>& sentences = section.sentences;
  if (PromiseOf(certificate) == Promise::kNone) {
    section.title = "What that means";
    sentences = {"The model may tell exact facts about the rows that it was trained on."};
    return section;
  }
  const bool local = PromiseOf(certificate) == Promise::kLocal;
  sentences.push_back(StrCat(
      "Whoever sees the ", local ? "report, or the model," : "model",
      " and knows whatever else there is to know can multiply the odds between the two cases by e^",
      text, ", at most ", OddsFactor(epsilon), ", and by no more."));
  sentences.push_back(StrCat("Something that seemed 50 % likely before can then seem ",
                             AtMost(50, epsilon), " likely at most, and 1 % can become ",
                             AtMost(1, epsilon), " at most."));
  if (certificate.delta_atto > 0) {
    sentences.push_back(
        StrCat("With probability δ = ", Decimal(certificate.delta_atto, kDeltaDecimals),
               " this guarantee may fail outright."));
  }
  if (epsilon >= kNearCertainty) {
    sentences.emplace_back("At this ε the worst case is near certainty.");
  }
  return section;
}

// ---- What is not covered

// What is said of columns that were read from private rows; empty if there are none.
std::string Uncovered(const Certificate& certificate) {
  const auto found = std::find_if(certificate.public_inputs.begin(),
                                  certificate.public_inputs.end(), IsUncoveredColumns);
  return found == certificate.public_inputs.end() ? "" : Printable(*found);
}

std::string PublicInputs(const Certificate& certificate) {
  std::string text = "Public inputs are not protected";
  std::vector<std::string> inputs;
  std::remove_copy_if(certificate.public_inputs.begin(), certificate.public_inputs.end(),
                      std::back_inserter(inputs), IsUncoveredColumns);
  for (size_t i = 0; i < std::min(kMaxListed, inputs.size()); ++i) {
    StrAppend(&text, i == 0 ? ": " : "; ", Printable(inputs[i]));
  }
  return StrCat(text, ".");
}

constexpr char kPeopleAlike[] =
    "What the model says about similar people can be inferred about each of them, whether they "
    "took part or not; and rows that say something about each other are protected less than a row "
    "by itself.";
constexpr char kNoProof[] =
    "This certificate is checked for consistency: neither that nor a signature proves what was "
    "run.";

void AddLocalLimits(const Certificate& certificate, std::vector<std::string>& sentences) {
  sentences.push_back(
      StrCat("Not hidden: that a device took part, when and from which address, and the number of "
             "reports (",
             certificate.reports, ") is public."));
  sentences.emplace_back(
      "Each further report about the same row costs its own ε, and all add up, over studies and "
      "curators.");
  sentences.emplace_back(
      "It holds for devices that run this program unchanged, and not against someone who controls "
      "a device.");
}

void AddCentralLimits(const Certificate& certificate, std::vector<std::string>& sentences) {
  if (certificate.public_rows > 0) {
    sentences.push_back(
        StrCat("The ", certificate.public_rows,
               " public rows are known to everyone who holds the model, which may "
               "contain them. A private row that is public too is not protected, and "
               "neither is whoever is in both tables."));
    if (!certificate.diagnosis.empty()) {
      sentences.push_back(StrCat("What private rows made of them, in the order of training: ",
                                 Printable(certificate.diagnosis),
                                 ". Where they do not fit, the model is still not free of them."));
    }
    sentences.emplace_back(
        "That those rows are public, and were chosen without looking at the private ones, is the "
        "owner's claim: nothing here can check it. Withdrawing them later changes neither the "
        "model nor the claim.");
  }
  sentences.emplace_back(
      "Anyone who runs the curator, or can read its memory, its store or its backups, sees the "
      "rows.");
  sentences.emplace_back(
      "A person with several rows pays for each. Models add up: those of one dataset up to its "
      "budget, those of other datasets with the same people without a bound.");
  sentences.emplace_back(kTrainingTells);
}

Section NotCovered(const Certificate& certificate) {
  Section section{.title = "What that does not cover", .sentences = {PublicInputs(certificate)}};
  std::vector<std::string>& sentences = section.sentences;
  if (std::string uncovered = Uncovered(certificate); !uncovered.empty()) {
    uncovered[0] = ToAsciiUpper(static_cast<unsigned char>(uncovered[0]));
    sentences.push_back(StrCat(
        uncovered,
        ": they may tell the largest, the smallest and the rarest value of somebody's row, also "
        "categories and classes, whatever the noise."));
  }
  switch (PromiseOf(certificate)) {
    case Promise::kLocal:
      AddLocalLimits(certificate, sentences);
      break;
    case Promise::kRow:
    case Promise::kLabel:
      AddCentralLimits(certificate, sentences);
      break;
    case Promise::kNone:
    case Promise::kOther:
      break;
  }
  if (PromiseOf(certificate) != Promise::kNone) sentences.emplace_back(kPeopleAlike);
  sentences.emplace_back(kNoProof);
  return section;
}

std::string PromiseInALine(const Certificate& certificate) {
  const std::string cost = CostText(certificate);
  switch (PromiseOf(certificate)) {
    case Promise::kLocal:
      return StrCat(cost, " per report; ", Printable(certificate.neighbouring),
                    ", protected from everybody, the curator included");
    case Promise::kNone:
      return "none: trained without privacy";
    case Promise::kRow:
    case Promise::kLabel:
      return StrCat(cost, "; ", Printable(certificate.neighbouring),
                    ", protected from whoever sees the model, but not from the curator");
    case Promise::kOther:
      break;
  }
  return StrCat(cost, "; ", Printable(certificate.neighbouring));
}

}  // namespace

Promise PromiseOf(const Certificate& certificate) {
  const std::string& neighbouring = certificate.neighbouring;
  if (EndsWith(neighbouring, "(local)")) return Promise::kLocal;
  if (neighbouring == "one row more or less") return Promise::kRow;
  if (StartsWith(neighbouring, "the label of one row")) return Promise::kLabel;
  return StartsWith(neighbouring, "none") ? Promise::kNone : Promise::kOther;
}

CertificateText DescribeCertificate(const Certificate& certificate) {
  return {.sections = {Released(certificate), PrivateTo(certificate), Meaning(certificate),
                       NotCovered(certificate)}};
}

std::string CostText(const Certificate& certificate) {
  return EpsilonAndDelta(certificate.epsilon_nanos, certificate.delta_atto);
}

std::string PrivacyInALine(const Certificate& certificate) {
  const std::string uncovered = Uncovered(certificate);
  const std::string promise = PromiseInALine(certificate);
  return uncovered.empty() ? promise : StrCat(promise, "; but ", uncovered);
}

}  // namespace coppice
