#include "server/store/vault/private_records.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "common/base/text.h"

namespace coppice::vault {
namespace {

constexpr std::string_view kQuarantine = "quarantine/";
constexpr std::string_view kAuditSalt = "meta/audit_salt";
constexpr std::string_view kChunk = "chunk/";
constexpr std::string_view kDataset = "dataset/";
constexpr std::string_view kDirectKey = "meta/direct_key/";
constexpr std::string_view kEvaluation = "evaluation/";
constexpr std::string_view kJob = "job/";
constexpr std::string_view kJoin = "join/";
constexpr std::string_view kManifestKey = "meta/manifest_key";
constexpr std::string_view kOpenCall = "audit/open/";
constexpr std::string_view kTicketKey = "meta/ticket_key";
constexpr std::string_view kSealing = "sealing/";
constexpr std::string_view kDatasetUnit = "dataset/";
constexpr std::string_view kStudyUnit = "study/";
constexpr std::string_view kSealingUnit = "sealing/";

// In byte order, in which a plain store is sealed (adoption.h).
constexpr std::string_view kPrefixes[] = {kOpenCall,    kChunk,     kDataset,    kEvaluation,
                                          kJob,         kJoin,      kAuditSalt,  kDirectKey,
                                          kManifestKey, kTicketKey, kQuarantine, kSealing};
static_assert(std::is_sorted(std::begin(kPrefixes), std::end(kPrefixes)));

// A repair may put a record aside more than once.
std::string_view WithoutQuarantine(std::string_view key) {
  while (ConsumePrefix(&key, kQuarantine)) {
  }
  return key;
}

// Returns the part up to the first slash.
std::string_view IdIn(std::string_view rest) { return rest.substr(0, rest.find('/')); }

}  // namespace

std::optional<std::string> UnitOf(std::string_view key) {
  key = WithoutQuarantine(key);
  if (ConsumePrefix(&key, kChunk)) return StrCat(kDatasetUnit, IdIn(key));
  if (ConsumePrefix(&key, kJoin)) return StrCat(kStudyUnit, IdIn(key));
  if (ConsumePrefix(&key, kSealing)) return StrCat(kSealingUnit, IdIn(key));
  if (StartsWith(key, kDataset) || StartsWith(key, kEvaluation) || StartsWith(key, kJob) ||
      StartsWith(key, kOpenCall) || StartsWith(key, kDirectKey) || key == kAuditSalt ||
      key == kManifestKey || key == kTicketKey) {
    return std::string(kDaemonUnit);
  }
  return std::nullopt;
}

std::string PrefixOfUnit(std::string_view unit) {
  if (ConsumePrefix(&unit, kDatasetUnit)) return StrCat(kChunk, unit, "/");
  if (ConsumePrefix(&unit, kStudyUnit)) return StrCat(kJoin, unit, "/");
  if (ConsumePrefix(&unit, kSealingUnit)) return StrCat(kSealing, unit, "/");
  return "";
}

bool MayHoldUnits(std::string_view prefix) {
  for (const std::string_view kind : {kChunk, kJoin, kSealing}) {
    if (StartsWith(prefix, kind) || StartsWith(kind, prefix)) return true;
  }
  return false;
}

absl::Span<const std::string_view> PrivatePrefixes() { return kPrefixes; }

std::string LabelOf(std::string_view key) {
  return StrCat("coppice.v1.record/", WithoutQuarantine(key));
}

}  // namespace coppice::vault
