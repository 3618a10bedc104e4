#include "common/model/certificate.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "absl/numeric/int128.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

constexpr double kNanosPerEpsilon = 1e9;

std::string Text(uint64_t nanos) { return StrCat(static_cast<double>(nanos) / kNanosPerEpsilon); }

constexpr std::string_view kUncoveredBegin = "bounds of columns ";
constexpr std::string_view kUncoveredEnd =
    " were read from the private rows and are not covered by ε";

// The sum of one kind of cost.
StatusOr<uint64_t> Total(absl::Span<const Release> releases, uint64_t Release::*cost) {
  // 64 bits per cost, times 64 per count, times many releases exceeds 128 bits: stops at 2^64.
  constexpr absl::uint128 kTooMuch = absl::uint128(1) << 64;
  absl::uint128 of_all = 0;
  std::map<std::string, absl::uint128> of_part;
  for (const Release& release : releases) {
    absl::uint128& sum = release.part.empty() ? of_all : of_part[release.part];
    sum = std::min(kTooMuch, sum + absl::uint128(release.*cost) * release.times);
  }
  absl::uint128 most = 0;
  for (const auto& [part, sum] : of_part) most = std::max(most, sum);
  if (of_all + most >= kTooMuch) {
    return InvalidArgumentError("the releases' costs are too large to add up");
  }
  return absl::Uint128Low64(of_all + most);
}

}  // namespace

StatusOr<uint64_t> TotalCost(absl::Span<const Release> releases) {
  return Total(releases, &Release::epsilon_nanos);
}

StatusOr<uint64_t> TotalDelta(absl::Span<const Release> releases) {
  return Total(releases, &Release::delta_atto);
}

std::string UncoveredColumns(const Schema& schema) {
  const std::vector<std::string> columns = schema.ColumnsFromPrivateRows();
  if (columns.empty()) return "";
  return StrCat(kUncoveredBegin, ListOf(columns), kUncoveredEnd);
}

bool IsUncoveredColumns(std::string_view public_input) {
  return StartsWith(public_input, kUncoveredBegin) && EndsWith(public_input, kUncoveredEnd);
}

Status CheckCertificate(const Certificate& certificate) {
  COPPICE_ASSIGN_OR_RETURN(const uint64_t cost, TotalCost(certificate.releases));
  COPPICE_ASSIGN_OR_RETURN(const uint64_t delta, TotalDelta(certificate.releases));
  if (delta != certificate.delta_atto) {
    return InvalidArgumentError(StrCat("the certificate says delta ", certificate.delta_atto,
                                       "e-18, its releases add up to ", delta, "e-18"));
  }
  if (cost == certificate.epsilon_nanos) return OkStatus();
  return InvalidArgumentError(StrCat("the certificate says epsilon ",
                                     Text(certificate.epsilon_nanos), ", its releases add up to ",
                                     Text(cost)));
}

}  // namespace coppice
