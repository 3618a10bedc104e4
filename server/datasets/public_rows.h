// Public rows that an owner gives to a dataset or a job: rows that nothing protects, which training
// starts from.
//
// A dataset has at most one set of them, given when it is made, so that one digest says what its
// jobs start from. A job may bring its own in place of these. The record of a job has them until it
// begins, and only the digest afterwards; whoever still has the rows can compare (`coppice model
// verify --public`).
//
// Errors     InvalidArgument names the field.

#ifndef COPPICE_SERVER_DATASETS_PUBLIC_ROWS_H_
#define COPPICE_SERVER_DATASETS_PUBLIC_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "coppice/v1/dataset.pb.h"

namespace coppice::central {

// Far more than say something new. The public predictor took 23 processor seconds for 20,000 rows
// of adult (14 features), 4.5 for 5,000; a job holds its owner's line for as long.
inline constexpr size_t kMaxPublicRows = 20'000;
// 16 MiB, what a request and a queued job's record may hold of them.
inline constexpr size_t kMaxPublicValues = size_t{1} << 21;

// As they came; null: none.
using PublicRowBlock = std::shared_ptr<const v1::RowBlock>;
// As training takes them; null: none.
using PublicRowsTable = std::shared_ptr<const Table>;

struct PublicRowsId {
  uint64_t rows = 0;
  std::string sha256{};  // RowsDigest(); empty: there are none

  friend bool operator==(const PublicRowsId&, const PublicRowsId&) = default;
};

// `rows` may be null.
PublicRowsId PublicRowsIdOf(const Table* rows);

// Null if `block` is. InvalidArgument for too many, for none, and for what ParseRows() refuses.
StatusOr<PublicRowsTable> ParsePublicRows(std::string_view field, const PublicRowBlock& block,
                                          std::shared_ptr<const Schema> schema);

// What a request's hash takes of them; empty if there are none.
std::string HashedPart(const PublicRowBlock& block);

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_PUBLIC_ROWS_H_
