// The operator's settings of a study, as people give them and as they are shown: one table, from
// which the terminal makes flags and Python takes keywords.
//
// A setting is left unset unless it is given: the curator chooses what is not, and its answer says
// what it chose.

#ifndef COPPICE_COMMON_DESCRIBE_STUDY_SETTINGS_H_
#define COPPICE_COMMON_DESCRIBE_STUDY_SETTINGS_H_

#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/describe/describe.h"

namespace coppice::v1 {
class StudySettings;
}

namespace coppice {

struct StudySetting {
  std::string_view name;   // "min_reports"; "--min-reports" in the terminal
  std::string_view takes;  // what its value is: "DAYS". Empty: a switch, whose text is empty
  std::string_view help;
  // InvalidArgument, "wants ...", if the text is no value of the setting.
  Status (*set)(const std::string& text, v1::StudySettings& settings);
  void (*describe)(const v1::StudySettings& settings, Description& json);
};

// In the order in which help and descriptions show them.
absl::Span<const StudySetting> StudySettingTable();

// Null if there is no such setting.
const StudySetting* FindStudySetting(std::string_view name);

// Adds every setting that the study has, and its relay's.
void DescribeSettings(const v1::StudySettings& settings, Description& json);

}  // namespace coppice

#endif  // COPPICE_COMMON_DESCRIBE_STUDY_SETTINGS_H_
