// The features of the ids that a study is joined by (Terms::joined_by): the curator had them all
// along, so they are uploaded, and a report shows its id in place of them.
//
// All of it is public to whoever runs the curator; no label is in it.

#ifndef COPPICE_SERVER_CURATOR_STUDY_JOIN_ROWS_H_
#define COPPICE_SERVER_CURATOR_STUDY_JOIN_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/curator/keys/join_id.h"
#include "server/curator/study/study.h"
#include "server/storage/store.h"

namespace coppice::curator {

// InvalidArgument, naming the first row that is wrong, unless there are 1 to kMaxJoinRowsPerCall
// rows, each with an id that a report can show and a row that fits the study's schema.
absl::Status CheckJoinRows(const StudyDefinition& definition, absl::Span<const JoinRow> rows);

// Puts those that the study does not have into `batch`, beside the number of all, and returns that.
// InvalidArgument, naming the id, if one has other features already, in the study or in `rows`.
// The rows must be checked.
absl::StatusOr<uint64_t> PutJoinRows(const storage::Store& store, const Study& study,
                                     absl::Span<const JoinRow> rows, storage::StoreBatch& batch);

// The features of an id, or nothing if the study has none of it. DataLoss if they do not fit.
absl::StatusOr<std::optional<Row>> FindJoinRow(const storage::Store& store,
                                               const StudyDefinition& definition, const JoinId& id);

// How many ids the study has features of; 0 before the first.
absl::StatusOr<uint64_t> LoadJoinCount(const storage::Store& store, absl::string_view study);

// The ids that have been counted, from the reports that the study keeps. DataLoss if one is there
// twice.
absl::StatusOr<absl::flat_hash_set<JoinId>> LoadAnsweredIds(const storage::Store& store,
                                                            absl::string_view study);

// DataLoss unless every row fits, and there are as many as the study says.
absl::Status CheckStoredJoinRows(const storage::Store& store, const Study& study);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_JOIN_ROWS_H_
