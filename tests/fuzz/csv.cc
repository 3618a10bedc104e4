// A CSV file. Every row that is read fits the schema, and no schema makes a device's file
// unreadable.

#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_schema.h"

using coppice::testing::FileOf;
using coppice::testing::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const FileOf file(coppice::testing::AsBytes(data, size), ".csv");
  for (const bool strict : {false, true}) {
    const auto read =
        coppice::ReadTable(file.path(), coppice::testing::MixedSchema(), {.strict = strict});
    if (!read.ok()) continue;
    Require(coppice::testing::FitsItsSchema(read->table), "a row does not fit its schema");
  }
  Require(coppice::testing::IsReadByEverySchema(file.path()), "the schema decides who is read");
  return 0;
}
