// Writes and reads the records of a study. docs/storage.md has their format.
//
// Errors  DataLoss for a record that does not parse or does not fit the others, naming its key.
//         Nothing is repaired or skipped.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_RECORD_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_RECORD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/table/table.h"
#include "server/curator/keys/ticket_authority.h"
#include "server/curator/study/study.h"
#include "server/store/store.h"

namespace coppice::curator {

std::string EncodeStudy(const StudyDefinition& definition, const StudyLife& life);
std::string EncodeRows(const Table& rows);
std::string EncodeCounts(const Counts& counts);
std::string EncodeSums(const TreeSums& sums);
std::string EncodeSpent(absl::Span<const TicketSerial> tickets);
// The records that a study is made of, but for its relay's keys.
storage::StoreBatch FirstRecordsOf(const StudyDefinition& definition, const StudyProgress& progress,
                                   const Table& rows);
// The request that made a study. Request ids are separate for each owner.
struct StudyOrigin {
  std::string owner{};
  std::string request_id{};

  friend auto operator<=>(const StudyOrigin&, const StudyOrigin&) = default;
};
StudyOrigin OriginOf(const Study& study);
std::string EncodeTombstone(const StudyOrigin& origin, int64_t deleted_unix_seconds);

// `key` names the record in errors.
StatusOr<Counts> DecodeCounts(std::string_view key, std::string_view bytes);

// Loads the study whose StudyRecord is `bytes`, with its counts and sums, and with its spent
// tickets while it is open or has stored batches.
StatusOr<std::shared_ptr<Study>> LoadStudy(const storage::Store& store, std::string_view id,
                                           std::string_view bytes);
// Loads the study's public rows, as they were given.
StatusOr<Table> LoadRows(const storage::Store& store, const Study& study);
// Returns the request that a tombstone names.
StatusOr<StudyOrigin> DecodeTombstone(std::string_view id, std::string_view bytes);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_RECORD_H_
