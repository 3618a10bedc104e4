// Entries and manifests for tests of the journal.

#ifndef COPPICE_TESTS_CLIENT_DEVICE_SAMPLE_JOURNAL_H_
#define COPPICE_TESTS_CLIENT_DEVICE_SAMPLE_JOURNAL_H_

#include <string>
#include <utility>
#include <vector>

#include "client/device/journal.h"
#include "common/wire/manifest.h"
#include "tests/client/device/sample_study.h"

namespace coppice::testing {

// What waits of an answer depends on `number`: ticket, payload, and lengths.
inline JournalEntry SampleAnswer(const std::string& subject, const std::string& study = "s1",
                                 double epsilon = 1, uint8_t number = 1) {
  return {.subject = subject,
          .epsilon = *Budget::FromEpsilon(epsilon),
          .report = {.study = study,
                     .fingerprint = {static_cast<uint8_t>(study.size())},
                     .ticket = SampleTicket(number),
                     .payload = "payload of " + subject + std::string(number, 'p')}};
}

inline constexpr int64_t kDealEnd = 2'000;

// The same through a relay, whose deal ends at kDealEnd.
inline JournalEntry SampleSealedAnswer(const std::string& subject, const std::string& study = "s1",
                                       uint8_t number = 1) {
  JournalEntry entry = SampleAnswer(subject, study, 1, number);
  entry.report.payload.clear();
  entry.sealed = SealedAnswer{.relay = {1},
                              .epoch = {2},
                              .closes_unix_seconds = kDealEnd,
                              .claim = {number},
                              .encapsulated = {number, 4},
                              .ciphertext = std::string("\0\xff encrypted", 12)};
  entry.sealed->ciphertext.push_back(static_cast<char>(number));
  return entry;
}

inline SeenManifest SampleSeen(const std::string& study, uint8_t root,
                               const std::string& curator = "curator:1", uint64_t sequence = 2) {
  SeenManifest seen{.curator = curator, .bytes = {}, .manifest = SampleManifest()};
  seen.key = seen.root = FakeKey(root).public_key();
  seen.manifest.study = study;
  seen.manifest.sequence = sequence;
  seen.manifest.key = KeyIdOf(seen.key);
  seen.bytes = WriteManifest(seen.manifest);
  return seen;
}

inline std::vector<std::string> SubjectsOf(const std::vector<JournalEntry>& entries) {
  std::vector<std::string> subjects;
  for (const JournalEntry& entry : entries) subjects.push_back(entry.subject);
  return subjects;
}

// A storage in memory, and the journal that it keeps: what a browser's storage does.
class StoredJournal {
 public:
  StoredJournal() : StoredJournal(Journal::NewBytes()) {}
  explicit StoredJournal(std::string bytes)
      : bytes_(std::move(bytes)), journal_(*Journal::Open(bytes_)) {}

  Journal& operator*() { return *journal_; }
  Journal* operator->() { return journal_.get(); }
  const std::string& bytes() const { return bytes_; }

  // Stores what `change` staged, if it is OK.
  Status Store(const Status& change) {
    if (!change.ok()) return change;
    if (const JournalWrite* write = journal_->pending()) {
      if (write->kind == JournalWrite::Kind::kReplace) bytes_.clear();
      bytes_ += write->bytes;
      journal_->Committed();
    }
    return OkStatus();
  }

 private:
  std::string bytes_;
  std::unique_ptr<Journal> journal_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_SAMPLE_JOURNAL_H_
