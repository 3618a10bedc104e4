#include "server/serving/gate/token_use.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"

namespace coppice::calls {
namespace {

constexpr size_t kShownBytes = 4;  // of a hash: enough to tell entries of one name apart

int64_t DaysSince1970(absl::Time time) {
  return absl::ToInt64Hours(absl::Floor(time - absl::UnixEpoch(), absl::Hours(24))) / 24;
}

}  // namespace

TokenUse::TokenUse(storage::Store& store) : store_(store) {
  const auto bytes = store.Get(kTokenUseKey);
  v1::TokenUseRecord record;
  if (!bytes.ok() || !bytes->has_value() || !record.ParseFromString(**bytes)) return;
  for (const v1::TokenUseRecord::Use& use : record.uses()) {
    Sha256Digest digest;
    if (use.sha256().size() != digest.size()) continue;
    std::copy(use.sha256().begin(), use.sha256().end(), digest.begin());
    days_[digest] = use.day();
  }
}

bool TokenUse::Note(absl::Span<const Sha256Digest> entries, absl::Time now) {
  if (entries.empty()) return false;
  const int64_t today = DaysSince1970(now);
  bool is_first = false;
  const MutexLock lock(mutex_);
  for (const Sha256Digest& entry : entries) {
    int64_t& day = days_[entry];
    is_first |= day != today;
    day = today;
  }
  return is_first;
}

Status TokenUse::Write(const access::AccessPolicy& policy) {
  const MutexLock writing(write_mutex_);
  v1::TokenUseRecord record;
  {
    const MutexLock lock(mutex_);
    for (const auto* entries : {&policy.tokens(), &policy.certificates()}) {
      for (const access::PolicyEntry& entry : *entries) {
        const auto found = days_.find(entry.sha256);
        if (found == days_.end()) continue;
        v1::TokenUseRecord::Use& use = *record.add_uses();
        use.set_sha256(std::string(AsBytes(entry.sha256)));
        use.set_day(found->second);
      }
    }
  }
  storage::StoreBatch batch;
  batch.Put(std::string(kTokenUseKey), record.SerializeAsString());
  return store_.Apply(batch);
}

std::string TokenUse::DayOf(const Sha256Digest& entry) const {
  const auto found = days_.find(entry);
  if (found == days_.end()) return "";
  return absl::FormatTime("%Y-%m-%d", absl::UnixEpoch() + absl::Hours(24) * found->second,
                          absl::UTCTimeZone());
}

v1::TokenEntry TokenUse::Describe(const access::PolicyEntry& entry,
                                  v1::TokenEntry::Kind kind) const {
  v1::TokenEntry proto;
  proto.set_name(entry.name);
  proto.set_kind(kind);
  for (const access::Role role : access::kAllRoles) {
    if (entry.roles.Has(role)) proto.add_roles(std::string(access::RoleName(role)));
  }
  for (std::string& pattern : entry.resources.Texts()) proto.add_resources(std::move(pattern));
  if (entry.expires != absl::InfiniteFuture()) {
    proto.set_expires_unix_seconds(absl::ToUnixSeconds(entry.expires));
  }
  proto.set_last_used_day(DayOf(entry.sha256));
  proto.set_sha256_prefix(std::string(AsBytes(entry.sha256).substr(0, kShownBytes)));
  return proto;
}

v1::ListTokensResponse TokenUse::Describe(const access::AccessPolicy& policy) const {
  v1::ListTokensResponse response;
  const MutexLock lock(mutex_);
  for (const access::PolicyEntry& entry : policy.tokens()) {
    *response.add_tokens() = Describe(entry, v1::TokenEntry::KIND_TOKEN);
  }
  for (const access::PolicyEntry& entry : policy.certificates()) {
    *response.add_tokens() = Describe(entry, v1::TokenEntry::KIND_CERTIFICATE);
  }
  return response;
}

}  // namespace coppice::calls
