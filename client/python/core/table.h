// Rows that were encoded, with what is to be predicted: what trainers and studies take.

#ifndef COPPICE_CLIENT_PYTHON_CORE_TABLE_H_
#define COPPICE_CLIENT_PYTHON_CORE_TABLE_H_

#include <pybind11/pybind11.h>

#include <memory>

#include "common/table/read_table.h"
#include "common/table/table.h"

namespace coppice::python {

struct EncodedTable {
  std::shared_ptr<const Table> table;
  ReadNotes notes;
};

// What was changed on the way in, by name. For the owner of the rows only.
pybind11::dict NotesOf(const ReadNotes& notes);

}  // namespace coppice::python

#endif  // COPPICE_CLIENT_PYTHON_CORE_TABLE_H_
