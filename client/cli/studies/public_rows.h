// Flags for the public rows of a study.

#ifndef COPPICE_CLIENT_CLI_STUDIES_PUBLIC_ROWS_H_
#define COPPICE_CLIENT_CLI_STUDIES_PUBLIC_ROWS_H_

#include <string>

#include "common/base/status.h"
#include "common/command_line/command_line.h"
#include "coppice/v1/study.pb.h"

namespace coppice::cli {

// "none" means that there are no rows, or that their labels are not used.
struct PublicRowsFlags {
  std::string file, schema, labels = "as_given", rounding;
  bool strict = false;

  bool without_rows() const { return file == "none"; }
  bool without_labels() const { return without_rows() || labels == "none"; }
};

// Adds --public, --schema, --public-labels, --rounding, --strict. `flags` must outlive parsing.
void AddPublicRowsFlags(const Command& verb, PublicRowsFlags& flags);

// Sets the schema, the rows, and the partition options that follow from having rows and labels.
// Reports on stderr what was changed in the rows.
Status AddPublicRows(const PublicRowsFlags& flags, v1::CreateStudyRequest& request);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_STUDIES_PUBLIC_ROWS_H_
