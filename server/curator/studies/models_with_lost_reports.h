// Notes of models that rest on more reports than their study has left.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_MODELS_WITH_LOST_REPORTS_H_
#define COPPICE_SERVER_CURATOR_STUDIES_MODELS_WITH_LOST_REPORTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/store.h"

namespace coppice::curator {

// The number of reports that a study's model says it rests on.
struct ModelReports {
  std::string study;
  std::string model;
  uint64_t reports = 0;
};

inline constexpr std::string_view kOutlivedPrefix = "outlived/";
inline std::string OutlivedPrefix(std::string_view study) {
  return StrCat(kOutlivedPrefix, study, "/");
}
inline std::string OutlivedKey(std::string_view study, std::string_view model) {
  return StrCat(OutlivedPrefix(study), model);
}

std::string EncodeOutlived(const ModelReports& model, uint64_t left_in_study, int64_t unix_seconds);

// Models that rest on more reports than their study has left, because a repair of damaged files
// lost the others. The models are unharmed and stay; a note keeps them from counting as a mismatch.
// `coppiced repair` writes the notes, the curator reads them at its start, and deleting a study
// deletes its notes.
//
// Guarantee  A note covers one model of one study and the number of reports that the model names,
//            so it hides nothing else.
// Errors     DataLoss for a record that does not parse, naming its key.
class ModelsWithLostReports {
 public:
  Status Load(const storage::Store& store);
  // Adds one record.
  Status Add(std::string_view key, std::string_view bytes);

  bool Has(const ModelReports& model) const;

 private:
  std::map<std::string, uint64_t> reports_;  // reports that the model names, by key
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_MODELS_WITH_LOST_REPORTS_H_
