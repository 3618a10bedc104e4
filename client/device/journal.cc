#include "client/device/journal.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

// Answers that follow each other are written anew together, in records of about this length: so
// that their frames cost little, and that no record of many answers comes near kMaxFrameBody.
constexpr size_t kRewrittenRecordBytes = size_t{1} << 16;

// A record holds answers of one form.
Status CheckOneForm(absl::Span<const JournalEntry> entries) {
  for (const JournalEntry& entry : entries) {
    if (HaveOneForm(entry, entries[0])) continue;
    return InvalidArgumentError(
        "some of the answers go through a relay and some do not; append them in two calls");
  }
  return OkStatus();
}

// What stays of an answer that is final.
JournalEntry FinalAnswer(const JournalEntry& entry) {
  PrivateReport report;
  report.study = entry.report.study;
  report.fingerprint = entry.report.fingerprint;
  return {.subject = entry.subject,
          .epsilon = entry.epsilon,
          .report = std::move(report),
          .delivered = true,
          .curator = entry.curator};
}

// Writes a journal from its header on, record by record.
class JournalWriter {
 public:
  Status Add(const JournalRecord& record) {
    COPPICE_ASSIGN_OR_RETURN(const Frame frame, MakeFrame(last_, EncodeRecord(record)));
    bytes_.append(frame.bytes);
    last_ = frame.digest;
    return OkStatus();
  }

  // Collects answers of one form into one record.
  Status AddAnswer(JournalEntry entry) {
    if (!answers_.empty() && !HaveOneForm(entry, answers_[0])) COPPICE_RETURN_IF_ERROR(Flush());
    answers_bytes_ += Journal::BytesOf(entry);
    answers_.push_back(std::move(entry));
    return answers_bytes_ < kRewrittenRecordBytes ? OkStatus() : Flush();
  }
  // Must be called before any other record, and at the end.
  Status Flush() {
    if (answers_.empty()) return OkStatus();
    COPPICE_RETURN_IF_ERROR(Add(std::exchange(answers_, {})));
    answers_bytes_ = 0;
    return OkStatus();
  }

  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_ = JournalHeader();
  FrameDigest last_ = FirstFrameDigest();
  AnswersRecord answers_;
  uint64_t answers_bytes_ = 0;
};

}  // namespace

struct Journal::Staged {
  JournalWrite write;
  JournalRecord record;                   // of an append
  FrameDigest digest{};                   // the same
  std::optional<State> replacement = {};  // of a replacement
};

Journal::Journal() = default;
Journal::~Journal() = default;

std::string Journal::NewBytes() {
  JournalWriter writer;
  (void)writer.Add(OwnersChoice{});  // fails for longer records alone
  return writer.Take();
}

StatusOr<std::unique_ptr<Journal>> Journal::Open(std::string_view bytes) {
  COPPICE_RETURN_IF_ERROR(CheckHeader(bytes));
  std::unique_ptr<Journal> journal(new Journal);
  State& state = journal->state_;
  state.last = FirstFrameDigest();
  state.size = JournalHeader().size();
  const uint64_t first = state.size;
  while (state.size < bytes.size()) {
    COPPICE_ASSIGN_OR_RETURN(const ParsedFrame frame,
                             ParseFrame(state.last, bytes.substr(state.size)));
    if (frame.torn) break;
    COPPICE_ASSIGN_OR_RETURN(JournalRecord record, DecodeRecord(frame.body));
    COPPICE_RETURN_IF_ERROR(journal->Replay(std::move(record)));
    state.last = frame.digest;
    state.size += frame.size;
  }
  // It was stored as a whole, with a first record in it.
  if (state.size == first) {
    return DataLossError(StrCat("the journal is corrupt: only ", bytes.size(),
                                " bytes are left of it; restore it from a copy, as it is the "
                                "memory of what was spent"));
  }
  return journal;
}

// ---- What was committed

const JournalEntry* Journal::Lookup(std::string_view subject, std::string_view study) const {
  const auto found = state_.positions.find(std::pair(subject, study));
  return found == state_.positions.end() ? nullptr : &state_.entries[found->second];
}

std::optional<JournalEntry> Journal::Find(std::string_view subject, std::string_view study) const {
  const JournalEntry* entry = Lookup(subject, study);
  return entry == nullptr ? std::nullopt : std::make_optional(*entry);
}

std::vector<JournalEntry> Journal::Undelivered() const {
  std::vector<JournalEntry> found;
  for (const size_t place : state_.waiting) found.push_back(state_.entries[place]);
  return found;
}

std::vector<JournalEntry> Journal::Undelivered(std::string_view subject) const {
  std::vector<JournalEntry> found;
  for (const size_t place : state_.waiting) {
    if (state_.entries[place].subject == subject) found.push_back(state_.entries[place]);
  }
  return found;
}

std::optional<Budget> Journal::Spent(std::string_view subject) const {
  const auto found = state_.spent.find(subject);
  return found == state_.spent.end() ? std::nullopt : std::make_optional(found->second);
}

Status Journal::CheckOptedIn() const {
  if (!state_.opted_out) return OkStatus();
  return FailedPreconditionError(
      "this device's owner has opted out, says the journal; nothing is fetched, answered or sent");
}

uint64_t Journal::BytesOf(const JournalEntry& entry) {
  return EncodeRecord(AnswersRecord{entry}).size() + kFrameOverhead;
}

// ---- Records

Status Journal::CheckUnanswered(absl::Span<const JournalEntry> entries) const {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const JournalEntry& entry : entries) {
    const std::string& study = entry.report.study;
    const bool repeated = !seen.emplace(entry.subject, study).second;
    if (repeated || Lookup(entry.subject, study) != nullptr) {
      return AlreadyExistsError(
          StrCat("a subject has answered study ", study, " already; send that answer again"));
    }
  }
  return OkStatus();
}

Status Journal::CheckSums(absl::Span<const JournalEntry> entries) const {
  for (const JournalEntry& entry : entries) {
    const std::optional<Budget> spent = Spent(entry.subject);
    if (spent.has_value()) COPPICE_RETURN_IF_ERROR(spent->Plus(entry.epsilon).status());
  }
  return OkStatus();
}

Status Journal::CheckAnswered(const DeliveredMark& mark) const {
  for (const std::string& subject : mark.subjects) {
    if (Lookup(subject, mark.study) != nullptr) continue;
    return NotFoundError(
        StrCat("a subject has no answer to study ", mark.study, " in the journal"));
  }
  return OkStatus();
}

Status Journal::Replay(JournalRecord record) {
  Status possible;
  if (const auto* entries = std::get_if<AnswersRecord>(&record))
    possible = CheckUnanswered(*entries);
  if (const auto* mark = std::get_if<DeliveredMark>(&record)) possible = CheckAnswered(*mark);
  if (!possible.ok()) {
    return DataLossError(StrCat("the journal is corrupt: ", possible.message()));
  }
  Apply(std::move(record));
  return OkStatus();
}

void Journal::Apply(JournalRecord record) {
  if (auto* entries = std::get_if<AnswersRecord>(&record)) {
    ApplyAnswers(std::move(*entries));
  } else if (const auto* mark = std::get_if<DeliveredMark>(&record)) {
    ApplyDelivered(*mark);
  } else if (auto* seen = std::get_if<SeenManifest>(&record)) {
    state_.manifest_places.push_back(state_.entries.size());
    state_.manifests.Add(std::move(*seen));
  } else {
    state_.opted_out = std::get<OwnersChoice>(record).opted_out;
  }
}

void Journal::ApplyAnswers(std::vector<JournalEntry> entries) {
  const Budget largest = *Budget::FromNanos(Budget::kMaxNanos);
  std::map<std::string, std::optional<PublicKey>> curators;  // by study
  for (JournalEntry& entry : entries) {
    const auto [curator, first] = curators.try_emplace(entry.report.study);
    if (first) {
      const std::optional<SeenManifest> seen = state_.manifests.OfStudy(entry.report.study);
      if (seen.has_value()) curator->second = seen->root;
    }
    entry.curator = curator->second;
    // One batch may hold a subject's answers to several studies; a sum above the largest budget
    // counts as the largest.
    const auto [spent, is_new] = state_.spent.try_emplace(entry.subject, entry.epsilon);
    if (!is_new) spent->second = spent->second.Plus(entry.epsilon).value_or(largest);
    const size_t place = state_.entries.size();
    state_.positions.emplace(std::pair(entry.subject, entry.report.study), place);
    if (!entry.delivered) state_.waiting.insert(place);
    state_.entries.push_back(std::move(entry));
  }
}

void Journal::ApplyDelivered(const DeliveredMark& mark) {
  for (const std::string& subject : mark.subjects) {
    const size_t place = state_.positions.find(std::pair(subject, mark.study))->second;
    state_.entries[place] = FinalAnswer(state_.entries[place]);
    state_.waiting.erase(place);
  }
  state_.holds_final_reports = true;
}

// ---- Changes

Status Journal::CheckIdle() const {
  if (staged_ == nullptr) return OkStatus();
  return FailedPreconditionError(
      "the journal's last write is not known to be stored yet; finish it first");
}

Status Journal::StageRecord(JournalRecord record) {
  COPPICE_ASSIGN_OR_RETURN(Frame frame, MakeFrame(state_.last, EncodeRecord(record)));
  staged_.reset(new Staged{.write = {JournalWrite::Kind::kAppend, std::move(frame.bytes)},
                           .record = std::move(record),
                           .digest = frame.digest});
  return OkStatus();
}

// Reads what it is about to write, as the next opening will.
Status Journal::StageReplacement(std::string bytes) {
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Journal> replacement, Open(bytes));
  staged_.reset(new Staged{.write = {JournalWrite::Kind::kReplace, std::move(bytes)},
                           .record = {},
                           .replacement = std::move(replacement->state_)});
  return OkStatus();
}

Status Journal::Append(absl::Span<const JournalEntry> entries) {
  if (entries.empty()) return OkStatus();
  COPPICE_RETURN_IF_ERROR(CheckIdle());
  COPPICE_RETURN_IF_ERROR(CheckOneForm(entries));
  COPPICE_RETURN_IF_ERROR(CheckUnanswered(entries));
  COPPICE_RETURN_IF_ERROR(CheckSums(entries));
  return StageRecord(AnswersRecord(entries.begin(), entries.end()));
}

Status Journal::MarkDelivered(std::string_view study, absl::Span<const std::string> subjects) {
  COPPICE_RETURN_IF_ERROR(CheckIdle());
  DeliveredMark mark{std::string(study), {subjects.begin(), subjects.end()}};
  COPPICE_RETURN_IF_ERROR(CheckAnswered(mark));
  std::erase_if(mark.subjects,
                [&](const std::string& subject) { return Lookup(subject, study)->delivered; });
  return mark.subjects.empty() ? OkStatus() : StageRecord(std::move(mark));
}

Status Journal::Remember(const SeenManifest& seen) {
  COPPICE_RETURN_IF_ERROR(CheckIdle());
  return StageRecord(seen);
}

Status Journal::SetOptedOut(bool opted_out) {
  COPPICE_RETURN_IF_ERROR(CheckIdle());
  return opted_out == state_.opted_out ? OkStatus() : StageRecord(OwnersChoice{opted_out});
}

// ---- Writing anew

// The manifests that decide a look-up or an answer's curator; later ones made the others void.
std::set<size_t> Journal::NeededManifests() const {
  const std::vector<SeenManifest>& all = state_.manifests.all();
  std::map<std::string_view, size_t> of_study, of_curator;
  std::map<PublicKey, size_t> of_root;
  std::set<size_t> needed;
  size_t next = 0;
  const auto see_until = [&](size_t place) {
    for (; next < all.size() && state_.manifest_places[next] <= place; ++next) {
      of_study[all[next].manifest.study] = next;
      of_curator[all[next].curator] = next;
      of_root[all[next].root] = next;
    }
  };
  for (size_t place = 0; place < state_.entries.size(); ++place) {
    see_until(place);
    const auto seen = of_study.find(state_.entries[place].report.study);
    if (seen != of_study.end()) needed.insert(seen->second);
  }
  see_until(state_.entries.size());
  for (const auto& [study, last] : of_study) needed.insert(last);
  for (const auto& [curator, last] : of_curator) needed.insert(last);
  for (const auto& [root, last] : of_root) needed.insert(last);
  return needed;
}

StatusOr<std::string> Journal::Rewritten(const std::set<size_t>& ended) const {
  JournalWriter writer;
  COPPICE_RETURN_IF_ERROR(writer.Add(OwnersChoice{state_.opted_out}));
  const std::set<size_t> needed = NeededManifests();
  auto manifest = needed.begin();
  const auto write_manifests_until = [&](size_t place) -> Status {
    for (; manifest != needed.end() && state_.manifest_places[*manifest] <= place; ++manifest) {
      COPPICE_RETURN_IF_ERROR(writer.Flush());
      COPPICE_RETURN_IF_ERROR(writer.Add(state_.manifests.all()[*manifest]));
    }
    return OkStatus();
  };
  for (size_t place = 0; place < state_.entries.size(); ++place) {
    COPPICE_RETURN_IF_ERROR(write_manifests_until(place));
    const JournalEntry& entry = state_.entries[place];
    COPPICE_RETURN_IF_ERROR(writer.AddAnswer(ended.count(place) > 0 ? FinalAnswer(entry) : entry));
  }
  COPPICE_RETURN_IF_ERROR(write_manifests_until(state_.entries.size()));
  COPPICE_RETURN_IF_ERROR(writer.Flush());
  return writer.Take();
}

Status Journal::Forget(int64_t now) {
  COPPICE_RETURN_IF_ERROR(CheckIdle());
  std::set<size_t> ended;
  for (const size_t place : state_.waiting) {
    const std::optional<SealedAnswer>& sealed = state_.entries[place].sealed;
    if (sealed.has_value() && sealed->closes_unix_seconds <= now) ended.insert(place);
  }
  if (ended.empty() && !state_.holds_final_reports) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(std::string bytes, Rewritten(ended));
  return StageReplacement(std::move(bytes));
}

Status Journal::MakeRoom(uint64_t max_bytes) {
  COPPICE_RETURN_IF_ERROR(CheckIdle());
  if (state_.size <= max_bytes) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(std::string bytes, Rewritten(/*ended=*/{}));
  if (bytes.size() <= max_bytes) return StageReplacement(std::move(bytes));
  return ResourceExhaustedError(
      StrCat("the journal needs ", bytes.size(), " bytes where ", max_bytes,
             " are allowed: deliver the answers that wait, or allow more"));
}

// ---- Writing

const JournalWrite* Journal::pending() const {
  return staged_ == nullptr ? nullptr : &staged_->write;
}

void Journal::Failed() { staged_.reset(); }

void Journal::Committed() {
  if (staged_ == nullptr) return;
  const std::unique_ptr<Staged> staged = std::move(staged_);
  if (staged->replacement.has_value()) {
    state_ = *std::move(staged->replacement);
    return;
  }
  state_.size += staged->write.bytes.size();
  state_.last = staged->digest;
  Apply(std::move(staged->record));
}

}  // namespace coppice
