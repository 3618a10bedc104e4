// The features of the ids that a study is joined by (Terms::joined_by). The curator has them
// anyway, so the operator uploads them, and a report shows its id instead.
//
// All of it is public to the curator's operator; it contains no label.

#ifndef COPPICE_SERVER_CURATOR_STUDY_JOIN_ROWS_H_
#define COPPICE_SERVER_CURATOR_STUDY_JOIN_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/curator/keys/join_id.h"
#include "server/curator/study/study.h"
#include "server/store/store.h"

namespace coppice::curator {

// InvalidArgument, naming the first wrong row, unless there are 1 to kMaxJoinRowsPerCall rows, each
// with an id that a report can show and a row that fits the study's schema.
Status CheckJoinRows(const StudyDefinition& definition, absl::Span<const JoinRow> rows);

// Puts the rows that the study lacks into `batch`, with the new number of ids, and returns that
// number. InvalidArgument, naming the id, if one already has other features in the study or in
// `rows`. The rows must have passed CheckJoinRows().
StatusOr<uint64_t> PutJoinRows(const storage::Store& store, const Study& study,
                               absl::Span<const JoinRow> rows, storage::StoreBatch& batch);

// Stores such a batch, and shows the study's new number of ids. FailedPrecondition if the study is
// sealed or deleted by now. Runs on the committer.
Status StoreJoinRows(storage::Store& store, Study& study, const storage::StoreBatch& batch,
                     uint64_t count);

// The features of an id, or nothing if the study has none for it. DataLoss if they do not fit.
StatusOr<std::optional<Row>> FindJoinRow(const storage::Store& store,
                                         const StudyDefinition& definition, const JoinId& id);

// The number of ids with features in the study; 0 before the first.
StatusOr<uint64_t> LoadJoinCount(const storage::Store& store, std::string_view study);

// The ids that have been counted, from the reports that the study keeps. DataLoss if an id is there
// twice.
StatusOr<absl::flat_hash_set<JoinId>> LoadAnsweredIds(const storage::Store& store,
                                                      std::string_view study);

// DataLoss unless every row fits and their number is the one stored.
Status CheckStoredJoinRows(const storage::Store& store, const Study& study);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_JOIN_ROWS_H_
