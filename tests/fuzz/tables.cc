// A CSV file. The schema inferred from it reads it strictly, and survives writing and reading; a
// check finds something wrong exactly where a strict reader refuses.

#include "common/table/tables.h"

#include <string_view>

#include "common/base/status.h"
#include "common/table/csv_file.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_schema.h"

using coppice::SchemaFile;
using coppice::testing::FileOf;
using coppice::testing::Require;

namespace {

// Keeps the name of the last column, if there is one.
class LastColumn : public coppice::CsvSink {
 public:
  coppice::Status OnHeader(const std::vector<std::string>& names, const coppice::CsvRow&) override {
    name_ = names.back();
    return coppice::OkStatus();
  }
  void OnField(size_t, std::string_view) override {}
  coppice::Status OnRow(const coppice::CsvRow&) override { return coppice::OkStatus(); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

bool IsReadStrictly(const std::string& path, const SchemaFile& file, bool unlabelled) {
  return coppice::ReadTable(path, file.schema,
                            {.strict = true, .allow_unlabelled = unlabelled, .format = file.format})
      .ok();
}

bool IsFoundRight(const std::string& path, const SchemaFile& file, bool unlabelled) {
  const auto check = coppice::CheckTable(path, file, {.unlabelled = unlabelled});
  Require(check.ok(), "a file cannot be checked");
  return check->num_problems == 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const FileOf file(coppice::testing::AsBytes(data, size), ".csv");
  const SchemaFile mixed{.schema = coppice::testing::MixedSchema(), .features = {{}, {}}};
  Require(IsFoundRight(file.path(), mixed, false) == IsReadStrictly(file.path(), mixed, false),
          "a check and a strict reader differ");

  LastColumn last;
  coppice::ReadCsvFile(file.path(), {}, last).IgnoreError();
  for (const bool number : {false, true}) {
    coppice::InferOptions options;
    (number ? options.target : options.label) = last.name();
    const auto inferred = coppice::InferSchema(file.path(), options);
    if (!inferred.ok()) continue;
    const auto again = coppice::ParseSchema(ToText(inferred->file));
    Require(again.ok(), "an inferred schema cannot be read");
    Require(*again->schema == *inferred->file.schema, "an inferred schema reads as another");
    Require(again->format == inferred->file.format, "an inferred format reads as another");
    // Every reader refuses rows that lack a number to predict.
    if (number) continue;
    Require(IsReadStrictly(file.path(), *again, true),
            "a schema refuses what it was inferred from");
    Require(IsFoundRight(file.path(), *again, true), "a schema is wrong for its own rows");
  }
  return 0;
}
