#include "common/data/read_table.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/data/formats.h"

namespace coppice {

std::string ReadNotes::Summary() const {
  std::vector<std::string> parts;
  const auto add = [&parts](uint64_t count, absl::string_view what) {
    if (count > 0) parts.push_back(absl::StrCat(count, count == 1 ? " field" : " fields", what));
  };
  add(clamped, " clamped to the public bounds");
  add(unknown_categories, " outside the public vocabulary taken as \"other\"");
  add(missing, " missing");
  add(clamped_targets, " to predict clamped to the public bounds");
  return absl::StrJoin(parts, ", ");
}

absl::StatusOr<TableFile> ReadTable(const std::string& path, std::shared_ptr<const Schema> schema,
                                    const ReadOptions& options) {
  if (absl::EndsWith(path, ".svm") || absl::EndsWith(path, ".libsvm")) {
    return data_internal::ReadLibsvm(path, std::move(schema), options);
  }
  return data_internal::ReadCsv(path, std::move(schema), options);
}

}  // namespace coppice
