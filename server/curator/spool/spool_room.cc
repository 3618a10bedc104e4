#include "server/curator/spool/spool_room.h"

#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/curator/spool/sealed_reports.h"
#include "server/curator/study/study_sealing.h"

namespace coppice::curator {
namespace {

uint64_t BytesOf(const Study& study, uint64_t reports) {
  if (reports == 0) return 0;
  const SealedReports each{.ciphertext_bytes = SealingOf(study.definition()).ciphertext_bytes()};
  return reports * each.bytes_each();
}

Status NoRoom(std::string_view whose, uint64_t taken, uint64_t wanted, uint64_t limit,
              std::string_view setting) {
  return ResourceExhaustedError(StrCat(
      "no room for a batch of ", wanted, " bytes: ", whose, " have taken ", taken, " of ", limit,
      " bytes (", setting, " of the curator): keep the batch, and send it when earlier ones are ",
      "counted; one that is too large by itself needs a higher limit"));
}

}  // namespace

StatusOr<SpoolRoom::Place> SpoolRoom::Take(const Study& study, const BatchHeader& header) {
  const PublicKey& relay = study.definition().settings.relay->relay_key;
  const uint64_t wanted = BytesOf(study, header.reports);
  uint64_t of_all = 0;
  uint64_t of_relay = 0;
  const auto add = [&](const PublicKey& whose, uint64_t bytes) {
    of_all += bytes;
    if (whose == relay) of_relay += bytes;
  };
  // Reads `beginning_` first: a study may learn of such a batch meanwhile, and the batch then
  // counts twice instead of never.
  const MutexLock lock(mutex_);
  for (const auto& [whose, bytes] : beginning_) add(whose, bytes);
  for (const std::shared_ptr<Study>& other : all_studies_()) {
    const uint64_t bytes = BytesOf(*other, other->batches().reserved());
    if (bytes > 0) add(other->definition().settings.relay->relay_key, bytes);
  }
  if (of_relay + wanted > limits_.bytes_per_relay) {
    return NoRoom("batches of this relay", of_relay, wanted, limits_.bytes_per_relay,
                  "--max-relay-spool-bytes");
  }
  if (of_all + wanted > limits_.bytes) {
    return NoRoom("batches of all relays", of_all, wanted, limits_.bytes, "--max-spool-bytes");
  }
  beginning_[relay] += wanted;
  return Place(*this, relay, wanted);
}

void SpoolRoom::GiveBack(const PublicKey& relay, uint64_t bytes) {
  const MutexLock lock(mutex_);
  const auto found = beginning_.find(relay);
  found->second -= bytes;
  if (found->second == 0) beginning_.erase(found);
}

uint64_t SpoolRoom::BytesTaken() const {
  uint64_t bytes = 0;
  for (const std::shared_ptr<Study>& study : all_studies_()) {
    bytes += BytesOf(*study, study->batches().reserved());
  }
  return bytes;
}

}  // namespace coppice::curator
