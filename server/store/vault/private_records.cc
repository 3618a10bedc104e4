#include "server/store/vault/private_records.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace coppice::vault {
namespace {

constexpr absl::string_view kQuarantine = "quarantine/";
constexpr absl::string_view kAuditSalt = "meta/audit_salt";
constexpr absl::string_view kChunk = "chunk/";
constexpr absl::string_view kDataset = "dataset/";
constexpr absl::string_view kJob = "job/";
constexpr absl::string_view kJoin = "join/";
constexpr absl::string_view kManifestKey = "meta/manifest_key";
constexpr absl::string_view kOpenCall = "audit/open/";
constexpr absl::string_view kTicketKey = "meta/ticket_key";
constexpr absl::string_view kSealing = "sealing/";
constexpr absl::string_view kDatasetUnit = "dataset/";
constexpr absl::string_view kStudyUnit = "study/";
constexpr absl::string_view kSealingUnit = "sealing/";

constexpr absl::string_view kPrefixes[] = {kOpenCall,   kChunk,     kDataset,     kJob,
                                           kJoin,       kAuditSalt, kManifestKey, kTicketKey,
                                           kQuarantine, kSealing};

// A repair may put a record aside more than once.
absl::string_view WithoutQuarantine(absl::string_view key) {
  while (absl::ConsumePrefix(&key, kQuarantine)) {
  }
  return key;
}

// Returns the part up to the first slash.
absl::string_view IdIn(absl::string_view rest) { return rest.substr(0, rest.find('/')); }

}  // namespace

std::optional<std::string> UnitOf(absl::string_view key) {
  key = WithoutQuarantine(key);
  if (absl::ConsumePrefix(&key, kChunk)) return absl::StrCat(kDatasetUnit, IdIn(key));
  if (absl::ConsumePrefix(&key, kJoin)) return absl::StrCat(kStudyUnit, IdIn(key));
  if (absl::ConsumePrefix(&key, kSealing)) return absl::StrCat(kSealingUnit, IdIn(key));
  if (absl::StartsWith(key, kDataset) || absl::StartsWith(key, kJob) ||
      absl::StartsWith(key, kOpenCall) || key == kAuditSalt || key == kManifestKey ||
      key == kTicketKey) {
    return std::string(kDaemonUnit);
  }
  return std::nullopt;
}

std::string PrefixOfUnit(absl::string_view unit) {
  if (absl::ConsumePrefix(&unit, kDatasetUnit)) return absl::StrCat(kChunk, unit, "/");
  if (absl::ConsumePrefix(&unit, kStudyUnit)) return absl::StrCat(kJoin, unit, "/");
  if (absl::ConsumePrefix(&unit, kSealingUnit)) return absl::StrCat(kSealing, unit, "/");
  return "";
}

bool MayHoldUnits(absl::string_view prefix) {
  for (const absl::string_view kind : {kChunk, kJoin, kSealing}) {
    if (absl::StartsWith(prefix, kind) || absl::StartsWith(kind, prefix)) return true;
  }
  return false;
}

absl::Span<const absl::string_view> PrivatePrefixes() { return kPrefixes; }

std::string LabelOf(absl::string_view key) {
  return absl::StrCat("coppice.v1.record/", WithoutQuarantine(key));
}

}  // namespace coppice::vault
