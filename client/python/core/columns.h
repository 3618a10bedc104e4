// Rows as Python holds them: one NumPy array per feature, read where it lies.

#ifndef COPPICE_CLIENT_PYTHON_CORE_COLUMNS_H_
#define COPPICE_CLIENT_PYTHON_CORE_COLUMNS_H_

#include <pybind11/numpy.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/schema/schema.h"
#include "common/table/read_table.h"

namespace coppice::python {

// One array of float64 per feature, all as long as one another: numbers as they are, codes of
// categories, NaN where a value is missing. Strides are free, so a column of a matrix is not
// copied.
//
// Guarantee  a row that EncodeRow() returns fits the schema.
// Errors     ValueError where the arrays are not of one length, one per feature. EncodeRow():
//            InvalidArgument for an infinite number and for a code that no category has.
// Threads    safe to share, also without the interpreter's lock, while nobody writes to the arrays.
class Columns {
 public:
  Columns(std::shared_ptr<const Schema> schema, std::vector<pybind11::array_t<double>> arrays);

  const std::shared_ptr<const Schema>& schema() const { return schema_; }
  size_t num_rows() const { return num_rows_; }

  // Encodes row `row` into `out`, which has one value per feature, and counts what that changed.
  Status EncodeRow(size_t row, Row& out, ReadNotes& notes) const;

 private:
  double At(size_t row, size_t feature) const;

  struct View {
    const char* data = nullptr;
    ptrdiff_t stride = 0;  // in bytes
  };

  std::shared_ptr<const Schema> schema_;
  std::vector<pybind11::array_t<double>> arrays_;  // keeps the memory
  std::vector<View> views_;
  size_t num_rows_ = 0;
};

}  // namespace coppice::python

#endif  // COPPICE_CLIENT_PYTHON_CORE_COLUMNS_H_
