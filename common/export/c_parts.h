// Parts of a C header: strings, comments and identifiers made from foreign names, which cannot
// break out of them, and the enumerations built from these.
//
// Threads    an Identifiers is not thread-safe.

#ifndef COPPICE_COMMON_EXPORT_C_PARTS_H_
#define COPPICE_COMMON_EXPORT_C_PARTS_H_

#include <string>
#include <string_view>

#include "common/base/text.h"
#include "common/model/model.h"

namespace coppice::formats {

// Returns `text` in quotes, as a C99 string that is also safe in a comment: printable ASCII, the
// rest as octal escapes, without trigraphs and comment ends.
std::string CString(std::string_view text);

// As CString() without quotes, for sentences: backslashes and quotes stay.
std::string CComment(std::string_view text);

// Letters, digits and underscores of `text`; each run of other characters becomes an underscore.
std::string CWord(std::string_view text);

// Identifiers of one file, each returned only once.
class Identifiers {
 public:
  // Returns PREFIX_WORD in capitals, with the first number that makes it unique if needed.
  std::string Enumerator(std::string_view prefix, std::string_view name);

 private:
  StringSet taken_;
};

// Returns "coppice_" and the characters of the model's id that an identifier may have.
std::string CPrefix(std::string_view id);

// Returns the comment at the top: the model's name, its cost in privacy, and the layout of a row.
std::string CCertificate(const Model& model, std::string_view id);

// Returns enumerations of features, of each categorical one's codes, and of classes.
std::string CEnumerations(const Schema& schema, std::string_view prefix);

}  // namespace coppice::formats

#endif  // COPPICE_COMMON_EXPORT_C_PARTS_H_
