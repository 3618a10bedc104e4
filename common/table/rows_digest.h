// The digest that names public rows: in a job, in a certificate, and for whoever has the rows.

#ifndef COPPICE_COMMON_TABLE_ROWS_DIGEST_H_
#define COPPICE_COMMON_TABLE_ROWS_DIGEST_H_

#include <string>

#include "common/table/table.h"

namespace coppice {

// Returns SHA-256, in lower-case hex, of rows as a trainer sees them: of the canonical bytes of a
// coppice.v1.RowBlock that holds all of them (docs/protocol.md#public-rows). Of the rows and not of
// a file: the same rows have one digest from every door, and whoever has them and the model can
// compute it.
//
// Guarantee  two tables of one schema have the same digest only if all values, labels and numbers
//            are the same, in the same order. A zero has no sign, and all missing values are alike.
std::string RowsDigest(const Table& rows);

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_ROWS_DIGEST_H_
