// Where the rows of an upload come from: a file, or a query in the owner's database.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_ROW_SOURCE_H_
#define COPPICE_CLIENT_CLI_CENTRAL_ROW_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/command_line/command_line.h"
#include "common/schema/schema.h"
#include "common/table/read_table.h"
#include "common/table/table.h"

namespace coppice::cli {

// Rows that can be read once more, or for the first time, block by block.
struct RowSource {
  uint64_t rows = 0;  // 0: nobody knows until they have been read
  // Reads all rows, in order, with the blocks that an upload takes, and passes each block on. Ends
  // with the first error of its own or of `take`.
  std::function<Status(const std::function<Status(const Table&)>& take)> read;
};

// The flags that say how rows are read, whatever they come from.
struct RowFlags {
  bool strict = false;
  bool unlabelled = false;
};

// The rows of a file; "-" is stdin, read as CSV. Reads the file once to find what is wrong with it,
// and says on stderr what reading changes.
StatusOr<RowSource> OpenFile(const std::string& file, const RowFlags& flags,
                             std::shared_ptr<const Schema> schema, const TableFormat& format);

struct QueryFlags {
  std::string from, query, query_file;
  double limit_seconds = 12 * 3600;
};

// Adds --from, --query, --query-file and --query-timeout. Returns --from.
Flag AddQueryFlags(const Command& command, QueryFlags& flags);
// Wrong usage, naming the flag: a query without a database or the other way round.
Status CheckQueryFlags(const QueryFlags& flags);

// The rows of a query. Connects, and finds out whether each column of the schema is there, by a
// type that has a place; the query runs when the rows are read, once.
StatusOr<RowSource> OpenQuery(const QueryFlags& query, const RowFlags& flags,
                              std::shared_ptr<const Schema> schema, const TableFormat& format);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_ROW_SOURCE_H_
