// The bytes of a device's journal after each write, and of damaged journals.

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "client/device/journal.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/convert.h"
#include "tests/vectors/cases/sample_studies.h"
#include "tests/vectors/vectors.h"

namespace coppice::vectors {
namespace {

namespace fs = std::filesystem;

constexpr char kCurator[] = "curator.example:7443";

// A folder that is removed with its journal. Aborts if it cannot be made.
class ScratchFolder {
 public:
  ScratchFolder() : path_((fs::temp_directory_path() / "coppice_XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~ScratchFolder() { fs::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file() const { return path_ + "/journal"; }

 private:
  std::string path_;
};

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
          .public_features = terms.num_public_features()};
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

// One journal, and what was done to it step by step.
class Recorder {
 public:
  Recorder() : journal_(*Journal::Open(folder_.file())) { Record({{"do", "open"}}); }

  void See(const Terms& terms, uint8_t signer, uint8_t root) {
    const PublicKey key = JournalKey(signer).public_key();
    const Manifest manifest = ManifestOf(terms, key);
    const std::string bytes = WriteManifest(manifest);
    const SeenManifest seen = {.curator = kCurator,
                               .manifest = manifest,
                               .hash = Sha256({bytes}),
                               .key = key,
                               .root = JournalKey(root).public_key()};
    if (!journal_->Remember(seen).ok()) std::abort();
    Record({{"do", "see"},
            {"curator", seen.curator},
            {"manifest", Hex(bytes)},
            {"key", Hex(seen.key)},
            {"root", Hex(seen.root)}});
  }

  void Append(const std::vector<JournalEntry>& entries) {
    if (!journal_->Append(entries).ok()) std::abort();
    Json answers = Json::array();
    for (const JournalEntry& entry : entries) {
      answers.push_back({{"subject", entry.subject},
                         {"epsilon_nanos", entry.epsilon.nanos()},
                         {"study", entry.report.study},
                         {"fingerprint", ToHex(entry.report.fingerprint)},
                         {"ticket", Hex(entry.report.ticket.ToBytes())},
                         {"payload", Hex(entry.report.payload)},
                         {"public_values", Hex(entry.report.public_values)}});
    }
    Record({{"do", "answer"}, {"answers", answers}});
  }

  void Deliver(const std::string& study, const std::vector<std::string>& subjects) {
    if (!journal_->MarkDelivered(study, subjects).ok()) std::abort();
    Record({{"do", "deliver"}, {"study", study}, {"subjects", subjects}});
  }

  const std::vector<Json>& steps() const { return steps_; }
  const std::vector<std::string>& files() const { return files_; }

 private:
  void Record(Json step) {
    files_.push_back(*ReadFile(folder_.file()));
    step["file"] = Hex(files_.back());
    step["undelivered"] = *journal_->CountUndelivered();
    steps_.push_back(std::move(step));
  }

  ScratchFolder folder_;
  std::unique_ptr<Journal> journal_;
  std::vector<Json> steps_;
  std::vector<std::string> files_;
};

// Records what opening a file of these bytes returns, and what it leaves of the file.
Json OpenCase(const std::string& name, const std::string& bytes) {
  const ScratchFolder folder;
  std::ofstream(folder.file(), std::ios::binary) << bytes;
  const Status status = Journal::Open(folder.file()).status();
  Json json = {{"name", name}, {"file", Hex(bytes)}, {"status", CodeName(status)}};
  if (status.ok()) json["left"] = ReadFile(folder.file())->size();
  return json;
}

std::vector<Json> OpenCases(const std::vector<std::string>& files) {
  const std::string& header = files[0];
  const std::string first = files[1].substr(header.size());
  const std::string second = files[2].substr(files[1].size());
  std::string changed = files[2], newer = header, longer = files[2];
  changed[files[1].size() + 20] = static_cast<char>(changed[files[1].size() + 20] ^ 1);
  newer[16] = 2;
  longer[files[1].size()] = static_cast<char>(longer[files[1].size()] + 1);
  return {OpenCase("whole", files[2]),
          OpenCase("torn within a body", files[2].substr(0, files[2].size() - 1)),
          OpenCase("torn within a head", files[1] + second.substr(0, 7)),
          OpenCase("torn within the header", header.substr(0, 5)),
          OpenCase("a changed byte", changed),
          OpenCase("a changed length", longer),
          OpenCase("a record that is missing", header + second),
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
  const Json header = {
      {"what",
       "A journal: its whole file after each step, and how many answers wait; then files, damaged "
       "or not, with the status of opening them and how many bytes are left of them"},
      {"read", "docs/protocol.md#journal"},
      {"units",
       "bytes: hexadecimal. manifest: a serialized coppice.v1.Manifest. epsilon_nanos: billionths "
       "of epsilon"}};
  return {.name = "journal.json",
          .text = Render(header,
                         {{"steps", recorder.steps()}, {"files", OpenCases(recorder.files())}})};
}

}  // namespace coppice::vectors
