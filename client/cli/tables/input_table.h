// Reads the table of a flag such as --data or --public, and tells on stderr what reading changed.

#ifndef COPPICE_CLIENT_CLI_TABLES_INPUT_TABLE_H_
#define COPPICE_CLIENT_CLI_TABLES_INPUT_TABLE_H_

#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/schema/schema.h"
#include "common/table/read_table.h"
#include "common/table/table.h"

namespace coppice::cli {

// `file` is as it was given: "-" is stdin, read as CSV.
StatusOr<Table> ReadInputTable(const std::string& file, std::shared_ptr<const Schema> schema,
                               const ReadOptions& options);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TABLES_INPUT_TABLE_H_
