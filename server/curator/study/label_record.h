// The reports of studies whose reports are about the label alone (StudyForm::KeepsReports). They
// are kept one by one, so that any learner can be used (label_only.h). Only what the mechanism
// hides in a report is private.
//
// Guarantee  A record is written in the batch that counts its reports, and deleted with the study's
//            sums.
// Errors     LoadLabels(): DataLoss for records that do not hold the counted reports, or whose ids
//            have no features in the study.
// Threads    safe to share.

#ifndef COPPICE_SERVER_CURATOR_STUDY_LABEL_RECORD_H_
#define COPPICE_SERVER_CURATOR_STUDY_LABEL_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/table/table.h"
#include "server/curator/estimation/labels/label_only.h"
#include "server/curator/partition/by_value.h"
#include "server/curator/study/study.h"
#include "server/store/store.h"

namespace coppice::curator {

struct LabelReport {
  // As the report showed them or, in a study that is joined by ids, its id's JoinId.
  std::string_view public_values;
  std::string_view payload;
  uint32_t column = 0;
  uint32_t tree = 0;
};

std::string EncodeLabels(absl::Span<const LabelReport> reports);

struct StoredLabels {
  Table rows;  // without labels
  RowColumns margins;
  std::vector<uint16_t> tree_of{};  // of numbers: the tree whose leaf's range the device took
  uint64_t found = 0;  // with `where`: all reports with the value, even beyond the limit
};

// The most feature values held in memory at once, 12 bytes each. Reports that do not fit are left
// out, the last ones first.
inline constexpr uint64_t kMaxLabelValues = uint64_t{1} << 27;

// Loads the reports with the value `where`, or all, among the first `reports` counted; as many as
// fit, in whole groups.
StatusOr<StoredLabels> LoadLabels(const storage::Store& store, const Study& study, uint64_t reports,
                                  const std::optional<EncodedValue>& where = std::nullopt);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_LABEL_RECORD_H_
