// The bytes of a device's journal after each write, and of damaged journals.

#include "client/device/journal.h"
#include "common/base/status.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/convert.h"
#include "tests/vectors/cases/sample_studies.h"
#include "tests/vectors/vectors.h"

namespace coppice::vectors {
namespace {

constexpr char kCurator[] = "curator.example:7443";
constexpr int64_t kDealEnd = 1'750'000'000;

SigningKey JournalKey(uint8_t number) {
  SigningKey::Seed seed{};
  seed.fill(number);
  return *SigningKey::FromSeed(seed);
}

Manifest ManifestOf(const Terms& terms, const PublicKey& key) {
  return {.study = terms.study,
          .fingerprint = FingerprintOf(SerializeTerms(terms)),
          .epsilon = terms.epsilon,
          .mechanism = terms.mechanism,
          .expires_unix_seconds = 1'800'000'000,
          .min_reports = 1000,
          .sequence = 1,
          .issued_unix_seconds = 1'700'000'000,
          .key = KeyIdOf(key),
          .public_features = terms.num_public_features(),
          .direct = DirectSealing{.key = {.suite = 1, .key = {9}}, .report_bytes = 100}};
}

JournalEntry Answer(const std::string& subject, const Terms& terms, uint64_t number,
                    const std::string& public_values) {
  return {.subject = subject,
          .epsilon = terms.epsilon,
          .report = {.study = terms.study,
                     .fingerprint = FingerprintOf(SerializeTerms(terms)),
                     .ticket = NumberedTicket(number),
                     .payload = std::string("payload ") + std::to_string(number),
                     .public_values = public_values}};
}

JournalEntry RelayedAnswer(const std::string& subject, const Terms& terms, uint8_t number) {
  JournalEntry entry = Answer(subject, terms, number, "");
  entry.report.payload.clear();
  entry.sealed = SealedAnswer{.relay = {number},
                              .epoch = {2},
                              .closes_unix_seconds = kDealEnd,
                              .claim = {3, number},
                              .encapsulated = {4, number},
                              .ciphertext = std::string("ciphertext ") + std::to_string(number)};
  return entry;
}

Json DescribeEntry(const JournalEntry& entry) {
  Json answer = {{"subject", entry.subject},
                 {"epsilon_nanos", entry.epsilon.nanos()},
                 {"study", entry.report.study},
                 {"fingerprint", ToHex(entry.report.fingerprint)},
                 {"ticket", Hex(entry.report.ticket.ToBytes())}};
  if (entry.sealed.has_value()) {
    answer.update({{"relay", Hex(entry.sealed->relay)},
                   {"epoch", Hex(entry.sealed->epoch)},
                   {"closes", entry.sealed->closes_unix_seconds},
                   {"claim", Hex(entry.sealed->claim)},
                   {"encapsulated", Hex(entry.sealed->encapsulated)},
                   {"ciphertext", Hex(entry.sealed->ciphertext)}});
  } else {
    answer.update({{"payload", Hex(entry.report.payload)},
                   {"public_values", Hex(entry.report.public_values)}});
  }
  return answer;
}

// One journal, and what was done to it step by step.
class Recorder {
 public:
  Recorder() : file_(Journal::NewBytes()), journal_(*Journal::Open(file_)) {
    Store(OkStatus(), {{"do", "open"}});
  }

  void See(const Terms& terms, uint8_t signer, uint8_t root) {
    const PublicKey key = JournalKey(signer).public_key();
    const Manifest manifest = ManifestOf(terms, key);
    const SeenManifest seen = {.curator = kCurator,
                               .bytes = WriteManifest(manifest),
                               .manifest = manifest,
                               .key = key,
                               .root = JournalKey(root).public_key()};
    Store(journal_->Remember(seen), {{"do", "see"},
                                     {"curator", seen.curator},
                                     {"manifest", Hex(seen.bytes)},
                                     {"key", Hex(seen.key)},
                                     {"root", Hex(seen.root)}});
  }

  void Append(const std::vector<JournalEntry>& entries) {
    Json answers = Json::array();
    for (const JournalEntry& entry : entries) answers.push_back(DescribeEntry(entry));
    Store(journal_->Append(entries), {{"do", "answer"}, {"answers", answers}});
  }

  void Deliver(const std::string& study, const std::vector<std::string>& subjects) {
    Store(journal_->MarkDelivered(study, subjects),
          {{"do", "deliver"}, {"study", study}, {"subjects", subjects}});
  }

  void Choose(bool opted_out) {
    Store(journal_->SetOptedOut(opted_out), {{"do", "choose"}, {"opted_out", opted_out ? 1 : 0}});
  }

  void Forget(int64_t now) { Store(journal_->Forget(now), {{"do", "forget"}, {"now", now}}); }

  const std::vector<Json>& steps() const { return steps_; }
  const std::vector<std::string>& files() const { return files_; }

 private:
  void Store(const Status& change, Json step) {
    if (!change.ok()) std::abort();
    if (const JournalWrite* write = journal_->pending()) {
      if (write->kind == JournalWrite::Kind::kReplace) file_.clear();
      file_ += write->bytes;
      journal_->Committed();
    }
    files_.push_back(file_);
    step["file"] = Hex(file_);
    step["undelivered"] = journal_->CountUndelivered();
    steps_.push_back(std::move(step));
  }

  std::string file_;
  std::unique_ptr<Journal> journal_;
  std::vector<Json> steps_;
  std::vector<std::string> files_;
};

// Records what opening these bytes returns, and how many of them are kept.
Json OpenCase(const std::string& name, const std::string& bytes) {
  const StatusOr<std::unique_ptr<Journal>> journal = Journal::Open(bytes);
  Json json = {{"name", name}, {"file", Hex(bytes)}, {"status", CodeName(journal.status())}};
  if (journal.ok()) json["left"] = (*journal)->SizeBytes();
  return json;
}

std::vector<Json> OpenCases(const std::vector<std::string>& files) {
  const std::string header = files[0].substr(0, JournalHeader().size());
  const std::string first = files[1].substr(files[0].size());
  const std::string second = files[2].substr(files[1].size());
  std::string changed = files[2], newer = files[0], longer = files[2];
  changed[files[1].size() + 20] = static_cast<char>(changed[files[1].size() + 20] ^ 1);
  newer[16] = 2;
  longer[files[1].size()] = static_cast<char>(longer[files[1].size()] + 1);
  return {OpenCase("whole", files[2]),
          OpenCase("torn within a body", files[2].substr(0, files[2].size() - 1)),
          OpenCase("torn within a head", files[1] + second.substr(0, 7)),
          OpenCase("nothing", ""),
          OpenCase("cut off within the header", header.substr(0, 19)),
          OpenCase("cut off after the header", header),
          OpenCase("cut off within the first record", files[0].substr(0, 21)),
          OpenCase("a changed byte", changed),
          OpenCase("a changed length", longer),
          OpenCase("a record that is missing", files[0] + second),
          OpenCase("a record twice", files[1] + first),
          OpenCase("a newer version", newer),
          OpenCase("another file", "coppice ledger!\n" + header.substr(16))};
}

}  // namespace

VectorFile MakeJournalVectors() {
  const std::vector<SampleStudy> studies = SampleStudies();
  const Terms &quiet = studies[0].terms, &showing = studies[2].terms;
  Recorder recorder;
  recorder.See(quiet, 1, 1);
  recorder.Append({Answer("device", quiet, 1, "")});
  recorder.Deliver(quiet.study, {"device"});
  recorder.See(showing, 2, 1);
  recorder.Append({Answer("device", showing, 2, std::string(7, '\0') + "\x40")});
  recorder.Append({Answer("other", quiet, 3, ""), Answer("", quiet, 4, "")});
  recorder.Deliver(quiet.study, {"other", ""});
  recorder.Append({RelayedAnswer("third", quiet, 5), RelayedAnswer("fourth", quiet, 6)});
  recorder.Deliver(quiet.study, {"third"});
  recorder.See(quiet, 2, 1);
  recorder.Forget(kDealEnd - 1);
  recorder.Append({Answer("fifth", quiet, 7, "")});
  recorder.Choose(true);
  recorder.Forget(kDealEnd);
  const Json header = {
      {"what",
       "A journal: its whole file after each step, and how many answers wait; then files, damaged "
       "or not, with the status of opening them and how many bytes are left of them"},
      {"read", "docs/protocol.md#journal"},
      {"units",
       "bytes: hexadecimal. manifest: a serialized coppice.v1.Manifest. epsilon_nanos: billionths "
       "of epsilon. closes, now: seconds since 1970"}};
  return {.name = "journal.json",
          .text = Render(header,
                         {{"steps", recorder.steps()}, {"files", OpenCases(recorder.files())}})};
}

}  // namespace coppice::vectors
