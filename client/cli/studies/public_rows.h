// The public rows of a study on the command line.

#ifndef COPPICE_CLIENT_CLI_STUDIES_PUBLIC_ROWS_H_
#define COPPICE_CLIENT_CLI_STUDIES_PUBLIC_ROWS_H_

#include <string>

#include "absl/status/status.h"
#include "common/command_line/command_line.h"
#include "coppice/v1/study.pb.h"

namespace coppice::cli {

// "none" says that there are no rows, or that they have no labels to go by.
struct PublicRowsFlags {
  std::string file, schema, labels = "as_given", rounding;
  bool strict = false;

  bool without_rows() const { return file == "none"; }
  bool without_labels() const { return without_rows() || labels == "none"; }
};

// --public, --schema, --public-labels, --rounding and --strict. `flags` must outlive the parsing.
void AddPublicRowsFlags(const Command& verb, PublicRowsFlags& flags);

// Fills in the schema and the rows, and what of the partition follows from there being rows and
// labels. Says on stderr what had to be changed in them.
absl::Status AddPublicRows(const PublicRowsFlags& flags, v1::CreateStudyRequest& request);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_STUDIES_PUBLIC_ROWS_H_
