#include "client/cli/tables/input_table.h"

#include <utility>

#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/output.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::cli {

StatusOr<Table> ReadInputTable(const std::string& file, std::shared_ptr<const Schema> schema,
                               const ReadOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(const std::string path, InputFile(file));
  const ReadingNote reading(path);
  COPPICE_ASSIGN_OR_RETURN(TableFile table, ReadTable(path, std::move(schema), options));
  const std::string notes = table.notes.Summary();
  if (!notes.empty()) Note(notes);
  return std::move(table.table);
}

}  // namespace coppice::cli
