// What happened to one report.

#ifndef COPPICE_COMMON_TERMS_REPORT_OUTCOME_H_
#define COPPICE_COMMON_TERMS_REPORT_OUTCOME_H_

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "common/base/text.h"

namespace coppice {

// The numbers are stable: wire, store and metrics use them. docs/protocol.md has the retry rules.
enum class ReportOutcome : uint8_t {
  kAccepted = 1,   // counted, and on disk
  kDuplicate = 2,  // its ticket was already counted; a success to the device
  kUnknownStudy = 3,
  kStudySealed = 4,
  kStaleFingerprint = 5,  // made for other terms than this study's
  kBadTicket = 6,         // its ticket was not issued by this curator for these terms
  kBadPayload = 7,        // wrong length, or values that no honest device sends
  kStudyExpired = 8,      // the study was sealed because its time was over
  kBadSeal = 9,           // came in a relay's batch and does not open
  kUnknownId = 10,        // the curator has no features for the report's id
  kStudyDeleted = 11,     // told to devices and counted nowhere: there is no study any more
};

// Such as "stale fingerprint"; for a number of a later version, "outcome 12".
inline std::string InWords(ReportOutcome outcome) {
  constexpr std::string_view kWords[] = {"",
                                         "accepted",
                                         "duplicate",
                                         "unknown study",
                                         "study sealed",
                                         "stale fingerprint",
                                         "bad ticket",
                                         "bad payload",
                                         "study expired",
                                         "bad seal",
                                         "unknown id",
                                         "study deleted"};
  const auto number = static_cast<unsigned>(outcome);
  if (number == 0 || number >= std::size(kWords)) return StrCat("outcome ", number);
  return std::string(kWords[number]);
}

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_REPORT_OUTCOME_H_
