#include "server/curator/study_request.h"

#include <openssl/rand.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/study/sha256.h"
#include "common/wire/convert.h"
#include "server/curator/partition.h"
#include "server/curator/study_record.h"

namespace coppice {

absl::Status ValidateRequest(const StudySpec& spec) {
  if (spec.request_id.empty() || spec.request_id.size() > kMaxRequestIdLength) {
    return absl::InvalidArgumentError(absl::StrCat("request_id: must have 1 to ",
                                                   kMaxRequestIdLength, " characters, has ",
                                                   spec.request_id.size()));
  }
  if (!spec.id.empty() && !IsValidId(spec.id)) {
    return absl::InvalidArgumentError(
        "study_id: must be 1 to 63 of a-z 0-9 - _ and start with a letter or digit");
  }
  if (spec.public_rows == nullptr || spec.public_rows->num_rows() == 0) {
    return absl::InvalidArgumentError("public_rows: needs at least one row");
  }
  return absl::OkStatus();
}

std::string HashRequest(const StudySpec& spec) {
  const PartitionOptions& partition = spec.partition;
  const std::string schema = ToProto(spec.public_rows->schema()).SerializeAsString();
  const std::string rows = EncodeRows(*spec.public_rows);
  // The sizes keep one part from passing for the end of another.
  const std::string rest =
      absl::StrCat(schema.size(), " ", rows.size(), " ", spec.id, " ", spec.epsilon.nanos(), " ",
                   static_cast<int>(spec.mechanism), " ", SplitRuleName(partition.rule), " ",
                   CriterionName(partition.criterion), " ", partition.max_depth, " ",
                   partition.min_leaf, " ", partition.trees, " ", partition.seed);
  const Sha256Digest digest = Sha256({schema, rows, rest});
  return std::string(digest.begin(), digest.end());
}

absl::StatusOr<StudyFacts> MakeStudyFacts(const StudySpec& spec, const std::string& id,
                                          int64_t created_unix_seconds) {
  COPPICE_ASSIGN_OR_RETURN(const Forest forest, GrowPartition(*spec.public_rows, spec.partition));
  PackedForest packed = PackForest(forest);
  const Terms terms{.study = id,
                    .schema = spec.public_rows->shared_schema(),
                    .trees = static_cast<uint32_t>(forest.size()),
                    .forest_root = packed.merkle.root,
                    .epsilon = spec.epsilon,
                    .mechanism = spec.mechanism};
  COPPICE_RETURN_IF_ERROR(ValidateTerms(terms));
  COPPICE_ASSIGN_OR_RETURN(StudyFacts facts,
                           FactsFromTerms(SerializeTerms(terms), std::move(packed)));
  facts.created_unix_seconds = created_unix_seconds;
  facts.partition = spec.partition;
  facts.public_rows = spec.public_rows->num_rows();
  facts.request_id = spec.request_id;
  facts.request_hash = HashRequest(spec);
  return facts;
}

absl::StatusOr<std::string> MakeRandomId() {
  static constexpr absl::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  static constexpr size_t kLength = 12;
  // Bytes from here on would make some characters likelier than others.
  static constexpr size_t kFairBytes = 256 / kAlphabet.size() * kAlphabet.size();
  std::string id;
  while (id.size() < kLength) {
    uint8_t byte = 0;
    if (RAND_bytes(&byte, 1) != 1) return absl::UnavailableError("the system random source failed");
    if (byte < kFairBytes) id.push_back(kAlphabet[byte % kAlphabet.size()]);
  }
  return id;
}

}  // namespace coppice
