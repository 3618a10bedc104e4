// The book of one study and its relay: what devices, the relay and the curator have said to each
// other, written from docs/relay.md, and what must hold of it. It knows messages and SHA-256, and
// none of the code that it checks.
//
// What must hold:
//    1  a device's answer has the same bytes whenever it is sent
//    2  no ticket is dealt twice
//    3  only the device that was dealt a ticket stores a report for it, and the first one stays
//    4  a deal has one batch, with every report that was answered STORED, and none that nobody
//       sent; it is complete before its first part is sent, and takes nothing later
//    5  a batch has at least as many reports as devices and curator were promised, in the order of
//       their tickets, under the root that was signed
//    6  the curator has what it said it has of a batch; what it said is STORED is counted, COUNTED
//       stays so, and a batch whose study was sealed meanwhile is BROKEN
//    7  the sums are those of the reports of whole batches, each ticket once; of no other report is
//       anything counted; the spool has the rest
//    8  a refusal is one that the study's state, or another batch of the deal, calls for
//    9  a model rests on the reports that are counted; its n is that of the smallest batch that the
//       curator saw, less the share that is assumed to be dishonest
//   10  at the end each deal whose batch could be made was sent, and taken or refused for a reason
//   11  the key of a deal is gone once its batch is sent
//   12  copies of a deal's files deal nothing and take nothing
// Once an image of the relay's disk was put back, or runs beside the relay, 2 and 4 do not hold of
// the deals that were open or waiting: docs/relay.md says that nothing can.
// Threads    for one.

#ifndef COPPICE_TESTS_FAULTS_RELAY_BOOK_H_
#define COPPICE_TESTS_FAULTS_RELAY_BOOK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "coppice/v1/batch.pb.h"
#include "coppice/v1/relay.pb.h"
#include "coppice/v1/storage.pb.h"
#include "server/store/store.h"

namespace coppice::relay_faults {

// A sealed report on its way, named by its ephemeral key followed by its ciphertext.
struct Report {
  std::string ticket;
  std::string bytes;
};

// What is known of one deal from outside.
struct Deal {
  v1::RelayTerms terms;
  bool is_void = false;
  bool is_copied = false;  // the relay has copies of its files
  bool was_sent = false;
  std::set<std::string> dealt{};                        // tickets
  std::map<std::string, std::set<std::string>> sent{};  // by ticket, what reached the relay
  std::map<std::string, std::string> stored{};          // by ticket, what was answered STORED
};

// One header, and the parts that came under it.
struct Batch {
  std::string header{};
  v1::BatchHeader facts{};
  bool is_forged = false;
  std::vector<Report> reports{};
  // What the curator has said.
  uint64_t received = 0;
  bool stored = false;
  bool counted = false;
};

// The root of at least one report (RFC 6962, 2.1).
std::string RootOf(absl::Span<const Report> reports);

// What a model's certificate says about its relay.
struct ModelFacts {
  uint64_t reports = 0;
  uint64_t batches = 0;
  uint64_t least_accepted = 0;
  uint64_t honest_reports = 0;
  bool of_sealed = false;  // its study was sealed, or may have been, when it was built
};

class Book {
 public:
  Book(std::string study, uint64_t min_batch, uint32_t dishonest_millionths)
      : study_(std::move(study)), min_batch_(min_batch), dishonest_(dishonest_millionths) {}

  // The first thing that was wrong, or empty.
  const std::string& violation() const { return violation_; }
  void Violation(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  // Notes a time of the relay's clock; the latest one counts.
  void RelayTime(int64_t time) { relay_time_ = std::max(relay_time_, time); }

  // ---- devices and relay
  // Notes where a report counts; nowhere if it does not open.
  void Knows(const std::string& bytes, std::optional<size_t> cell) { cells_[bytes] = cell; }
  // Notes the bytes that a device sends.
  void DeviceSends(uint32_t device, const std::string& bytes);
  void SawDeal(const v1::RelayTerms& terms);
  void Dealt(const std::string& epoch, const std::string& ticket);
  // Notes what reaches a running relay; Answered() its answer.
  void ReachesRelay(const std::string& epoch, const Report& report);
  void Answered(const std::string& epoch, const Report& report, bool has_claim,
                v1::SubmitOutcome outcome);
  // Notes that an image of the relay's disk is used, as described above.
  void ImagePutBack(bool of_files_alone);

  // ---- relay and curator
  void Delivers(const v1::DeliverBatchRequest& request, bool is_forged);
  void Acknowledged(const v1::DeliverBatchRequest& request,
                    const v1::DeliverBatchResponse& response);
  // `is_hindered`: something fails at present, so an error may ask to try again.
  void Refused(const v1::DeliverBatchRequest& request, const Status& status, bool is_hindered);
  // Notes that the study was sealed, or may have been.
  void Sealed() { may_be_sealed_ = true; }
  bool may_be_sealed() const { return may_be_sealed_; }

  // ---- the curator's store, record by record
  void CheckStore(const storage::Store& store);
  void CheckSpent(const storage::Store& store);
  void CheckModel(const ModelFacts& model);
  // Call it once everything has worked again for long.
  void CheckEnd();

  // The batches that are complete so far; a dishonest relay derives others from them.
  std::vector<const Batch*> CompleteBatches() const;
  // Whether the curator has, or may have, something of the batch's deal.
  bool HasBegun(const Batch& batch) const;
  // By the last look at the store: reports that must count, and whether all of them do.
  uint64_t due() const { return expected_.size(); }
  bool is_idle() const { return certain_.size() == expected_.size(); }
  uint64_t stored_batches() const;
  // Deals whose relay must have erased their keys.
  std::vector<std::string> SentDeals() const;
  uint64_t deals() const { return deals_.size(); }
  // Deals that ended before this time and sent nothing.
  uint64_t DealsWithoutBatch(int64_t relay_time) const;
  // When the last deal that anybody saw ends.
  int64_t LastEnd() const;

 private:
  Batch* Find(const std::string& header);
  void CheckHeader(const Batch& batch);
  void AddPart(Batch& batch, const v1::DeliverBatchRequest& request);
  void CheckWhole(const Batch& batch);
  void CheckRecord(const Batch& batch, const v1::BatchRecord& record);
  void CheckTaken(const Batch& batch, const v1::BatchRecord& record);
  void CheckSpool(const storage::Store& store);
  void CheckSums(const storage::Store& store);
  uint64_t AcceptedOf(const Batch& batch) const;

  const std::string study_;
  const uint64_t min_batch_;
  const uint32_t dishonest_;
  bool IsOver(const Deal& deal) const;

  int64_t relay_time_ = 0;
  bool may_be_sealed_ = false;
  std::map<std::string, Deal> deals_;                   // by epoch
  std::map<std::string, Batch> batches_;                // by header
  std::map<std::string, std::optional<size_t>> cells_;  // by bytes of a report
  std::map<uint32_t, std::string> answers_;             // by device

  // From the last look at the store.
  std::map<std::string, v1::BatchRecord> records_;  // by header
  std::map<std::string, size_t> expected_;          // cell by ticket, of all that must count
  std::map<std::string, size_t> certain_;           // those of them in counted batches
  std::string violation_;
};

}  // namespace coppice::relay_faults

#endif  // COPPICE_TESTS_FAULTS_RELAY_BOOK_H_
