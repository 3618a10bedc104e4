// Rows for benchmarks of trainers: uniform numbers from 0 to 1, the same at each call.

#ifndef COPPICE_TESTS_BENCH_UNIFORM_ROWS_H_
#define COPPICE_TESTS_BENCH_UNIFORM_ROWS_H_

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/schema/schema.h"
#include "common/table/row_blocks.h"
#include "common/table/table.h"

namespace coppice {

// Makes its rows anew for each pass, so that no table of them is in memory. A row's class is what
// `rule` says of it, turned around for one row in five.
class UniformRows final : public RowBlocks {
 public:
  using Rule = std::function<bool(const Row& row)>;
  UniformRows(size_t features, size_t rows, Rule rule) : rows_(rows), rule_(std::move(rule)) {
    std::vector<Feature> columns(features);
    for (size_t f = 0; f < features; ++f) {
      columns[f].name = "x" + std::to_string(f);
      columns[f].max = 1;
    }
    schema_ = std::make_shared<const Schema>(*Schema::Create(columns, "y", {"no", "yes"}));
  }

  const std::shared_ptr<const Schema>& shared_schema() const override { return schema_; }
  size_t num_rows() const override { return rows_; }
  // The processor seconds that making the rows took.
  double seconds() const { return seconds_; }

  Status ForEach(Take take) const override {
    uint64_t state = 1;
    for (size_t first = 0; first < rows_; first += kBlock) {
      const double start = ThreadSeconds();
      const Table block = MakeBlock(std::min(kBlock, rows_ - first), state);
      seconds_ += ThreadSeconds() - start;
      COPPICE_RETURN_IF_ERROR(take(block));
    }
    return OkStatus();
  }

 private:
  static constexpr size_t kBlock = 6'512;  // a mebibyte of 20 numbers and a class

  static double ThreadSeconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  Table MakeBlock(size_t rows, uint64_t& state) const {
    Table block(schema_);
    block.Reserve(rows);
    Row row(schema_->num_features());
    for (size_t i = 0; i < rows; ++i) {
      for (double& x : row) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x = static_cast<double>(state >> 11) * 0x1p-53;
      }
      const bool other = (state >> 32) % 5 == 0;
      block.Append(row, rule_(row) != other);
    }
    return block;
  }

  std::shared_ptr<const Schema> schema_;
  const size_t rows_;
  const Rule rule_;
  mutable double seconds_ = 0;
};

inline Table MakeUniformRows(size_t features, size_t rows, UniformRows::Rule rule) {
  return *ReadWhole(UniformRows(features, rows, std::move(rule)));
}

}  // namespace coppice

#endif  // COPPICE_TESTS_BENCH_UNIFORM_ROWS_H_
