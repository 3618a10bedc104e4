// What the store says about one study, read record by record, without the code under test.

#ifndef COPPICE_TESTS_FAULTS_BOOKS_H_
#define COPPICE_TESTS_FAULTS_BOOKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "server/store/store.h"

namespace coppice::testing {

struct Books {
  bool exists = false;
  bool sealed = false;
  int64_t sealed_at = 0;  // in seconds since 1970
  bool retired = false;
  uint64_t accepted = 0;
  uint64_t duplicates = 0;
  uint64_t reports = 0;            // that the sums hold, by their own count
  std::vector<int64_t> sums;       // of the study's one tree; empty if it has no report
  std::vector<std::string> spent;  // ids of tickets
  std::string counted;             // all bytes of sums and tickets together
  bool has_rows = false;           // public rows
  size_t keys = 0;                 // of the study, of any kind, without its tombstone

  int64_t sum(size_t cell) const { return cell < sums.size() ? sums[cell] : 0; }
};

StatusOr<Books> ReadBooks(const storage::Store& store, std::string_view study);

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_BOOKS_H_
