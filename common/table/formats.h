// The two formats behind ReadTable(): each function passes the rows of a file to an encoder.

#ifndef COPPICE_COMMON_TABLE_FORMATS_H_
#define COPPICE_COMMON_TABLE_FORMATS_H_

#include <string>

#include "common/base/status.h"
#include "common/table/read_table.h"
#include "common/table/row_encoder.h"
#include "common/table/text_file.h"

namespace coppice::data_internal {

// Blanks around an unquoted field are not part of it; empty lines are skipped.
StatusOr<TableFile> ReadCsv(TextSource source, RowEncoder encoder, const ReadOptions& options);

// Each line is "label index:value ...", with increasing indices from 1; "#" starts a comment. An
// absent index is 0 by the format, so no value is ever missing and every feature must be numeric. A
// label matches a class by its text or, as writers differ ("+1", "1.0"), by its number.
StatusOr<TableFile> ReadLibsvm(const std::string& path, RowEncoder encoder,
                               const ReadOptions& options);

}  // namespace coppice::data_internal

#endif  // COPPICE_COMMON_TABLE_FORMATS_H_
