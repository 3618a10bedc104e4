// Parts of a C header: strings, comments and identifiers made from foreign names, which cannot
// break out of them, and the enumerations built from these.
//
// Threads    an Identifiers is not thread-safe.

#ifndef COPPICE_COMMON_EXPORT_C_PARTS_H_
#define COPPICE_COMMON_EXPORT_C_PARTS_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "common/model/model.h"

namespace coppice::formats {

// Returns `text` in quotes, as a C99 string that is also safe in a comment: printable ASCII, the
// rest as octal escapes, without trigraphs and comment ends.
std::string CString(absl::string_view text);

// As CString() without quotes, for sentences: backslashes and quotes stay.
std::string CComment(absl::string_view text);

// Letters, digits and underscores of `text`; each run of other characters becomes an underscore.
std::string CWord(absl::string_view text);

// Identifiers of one file, each returned only once.
class Identifiers {
 public:
  // Returns PREFIX_WORD in capitals, with the first number that makes it unique if needed.
  std::string Enumerator(absl::string_view prefix, absl::string_view name);

 private:
  absl::flat_hash_set<std::string> taken_;
};

// Returns "coppice_" and the characters of the model's id that an identifier may have.
std::string CPrefix(absl::string_view id);

// Returns the comment at the top: the model's name, its cost in privacy, and the layout of a row.
std::string CCertificate(const Model& model, absl::string_view id);

// Returns enumerations of features, of each categorical one's codes, and of classes.
std::string CEnumerations(const Schema& schema, absl::string_view prefix);

}  // namespace coppice::formats

#endif  // COPPICE_COMMON_EXPORT_C_PARTS_H_
