// A hash of the records under audit/open/, which follows their changes one at a time.

#ifndef COPPICE_SERVER_STORE_AUDIT_LOG_OPEN_SUM_H_
#define COPPICE_SERVER_STORE_AUDIT_LOG_OPEN_SUM_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "common/terms/sha256.h"

namespace coppice::audit {

// The sum, modulo 2^256, of SHA-256("audit/salt" and the salt) and of one such hash per record,
// over the salt, the record's key and its bytes.
//
// A hash over all records in a row would have to be computed anew at each write, and some thousands
// wait for their day to end. A sum takes one hash for each record that comes or goes, and the order
// in which they came leaves no trace in it.
//
// Guarantee  Two sets of records, under one salt that stays secret, have the same sum with the
//            probability of two equal SHA-256 hashes: each hash is as good as random to whoever
//            lacks the salt, and no two records have one key. Whoever knows the salt can write a
//            head that fits, as with any hash without a signature.
// Threads    a plain value.
class OpenSum {
 public:
  OpenSum() = default;
  // The sum of no record.
  explicit OpenSum(std::string salt);

  // `record` must be what is stored under OpenKey(number); Remove() takes what Add() was given.
  void Add(uint64_t number, std::string_view record);
  void Remove(uint64_t number, std::string_view record);

  std::string Bytes() const { return {sum_.begin(), sum_.end()}; }

 private:
  Sha256Digest HashOf(uint64_t number, std::string_view record) const;

  std::string salt_;
  Sha256Digest sum_{};  // the last byte counts least
};

}  // namespace coppice::audit

#endif  // COPPICE_SERVER_STORE_AUDIT_LOG_OPEN_SUM_H_
