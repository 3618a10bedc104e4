// The parts of a C header: names of others as strings, comments and identifiers that cannot end
// what they are in, and the enumerations that are made of them.
//
// Threads    one thread at a time uses an Identifiers.

#ifndef COPPICE_COMMON_EXPORT_C_PARTS_H_
#define COPPICE_COMMON_EXPORT_C_PARTS_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "common/tree/model.h"

namespace coppice::formats {

// `text` between quotes, as a string of C99 and as part of a comment: printable ASCII, the rest as
// octal escapes, without trigraphs, and without the ends of comments.
std::string CString(absl::string_view text);

// The same without quotes, for sentences: backslashes and quotes stay.
std::string CComment(absl::string_view text);

// Letters, digits and underscores of `text`, and an underscore for each run of others.
std::string CWord(absl::string_view text);

// Identifiers of one file, each given once.
class Identifiers {
 public:
  // PREFIX_WORD in capitals, or that with the first number that makes it unique.
  std::string Enumerator(absl::string_view prefix, absl::string_view name);

 private:
  absl::flat_hash_set<std::string> taken_;
};

// "coppice_" and what of the model's id an identifier may have.
std::string CPrefix(absl::string_view id);

// The comment above everything: which model it is, what it cost in privacy, how a row looks.
std::string CCertificate(const Model& model, absl::string_view id);

// The enumerations of features, of the codes of each categorical one, and of classes.
std::string CEnumerations(const Schema& schema, absl::string_view prefix);

}  // namespace coppice::formats

#endif  // COPPICE_COMMON_EXPORT_C_PARTS_H_
