#include "server/datasets/public_rows.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/table/rows_digest.h"
#include "common/wire/field_error.h"
#include "server/datasets/row_block.h"

namespace coppice::central {

PublicRowsId PublicRowsIdOf(const Table* rows) {
  if (rows == nullptr) return {};
  return {.rows = rows->num_rows(), .sha256 = RowsDigest(*rows)};
}

StatusOr<PublicRowsTable> ParsePublicRows(std::string_view field, const PublicRowBlock& block,
                                          std::shared_ptr<const Schema> schema) {
  if (block == nullptr) return nullptr;
  const auto rows = static_cast<size_t>(std::max(block->labels_size(), block->targets_size()));
  const size_t most =
      std::min(kMaxPublicRows, kMaxPublicValues / std::max<size_t>(schema->num_features(), 1));
  if (rows > most) {
    return FieldError(field, StrCat("must be at most ", most, ", are ", rows,
                                    ": a random part of them says as much"));
  }
  StatusOr<Table> parsed = ParseRows(*block, std::move(schema));
  if (!parsed.ok()) return InField(field, parsed.status());
  if (parsed->num_rows() == 0) return FieldError(field, "must have a row, or not be set");
  return std::make_shared<const Table>(*std::move(parsed));
}

std::string HashedPart(const PublicRowBlock& block) {
  return block == nullptr ? "" : StrCat(" public ", block->SerializeAsString());
}

}  // namespace coppice::central
