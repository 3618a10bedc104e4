// Studies that answer what a test told them to, and remember what they were asked.
//
// Batches are answered from a thread of its own, in order, unless the test holds them back.

#ifndef COPPICE_TESTS_SERVER_SERVING_SERVICE_FAKE_STUDIES_H_
#define COPPICE_TESTS_SERVER_SERVING_SERVICE_FAKE_STUDIES_H_

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/curator/studies/study_calls.h"
#include "tests/support/sealed_reports.h"

namespace coppice::testing {

struct SubmittedBatch {
  std::string study;
  std::string fingerprint;
  std::vector<std::string> tickets;
};

class FakeStudies final : public curator::StudyCalls {
 public:
  FakeStudies() : answering_([this] { AnswerBatches(); }) {}

  ~FakeStudies() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      held_ = false;
    }
    changed_.notify_all();
    answering_.join();
  }

  // Sets what every call returns from now on; with OK calls work.
  void Fail(Status status) {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
  }
  // Lets batches wait for their answers until LetBatches().
  void HoldBatches() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void LetBatches() {
    {
      const std::lock_guard lock(mutex_);
      held_ = false;
    }
    changed_.notify_all();
  }
  // Waits until `count` batches were submitted, and returns them all.
  std::vector<SubmittedBatch> AwaitBatches(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return batches_.size() >= count; });
    return batches_;
  }
  size_t num_batches() const {
    const std::lock_guard lock(mutex_);
    return batches_.size();
  }
  // Waits until every batch is answered and the answering call has returned.
  void AwaitAnswers() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return unanswered_ == 0; });
  }

  void AddStudy(curator::StudyInfo info) {
    const std::lock_guard lock(mutex_);
    studies_[info.id] = std::move(info);
  }
  // Sets what BuildModel() makes under the model's id.
  void AddModel(models::ModelInfo info) {
    const std::lock_guard lock(mutex_);
    models_[info.id] = std::move(info);
  }
  std::shared_ptr<const curator::StudySpec> created() const {
    const std::lock_guard lock(mutex_);
    return created_;
  }
  curator::EstimatorOptions built_with() const {
    const std::lock_guard lock(mutex_);
    return built_with_;
  }

  using curator::StudyCalls::Create;
  StatusOr<curator::StudyInfo> Create(const curator::StudySpec& spec, const CancelCheck&) override {
    const std::lock_guard lock(mutex_);
    created_ = std::make_shared<const curator::StudySpec>(spec);
    if (!status_.ok()) return status_;
    return studies_.begin()->second;
  }

  bool WasCreated(const curator::StudySpec&) const override { return false; }
  std::optional<curator::StudyInfo> FindInfo(std::string_view) const override {
    return std::nullopt;
  }

  using curator::StudyCalls::Get;
  StatusOr<curator::StudyInfo> Get(std::string_view id, curator::Viewer) override {
    const std::lock_guard lock(mutex_);
    return Find(studies_, id);
  }

  // Returns one step of the study's counts, at its time of creation.
  StatusOr<curator::ReportSteps> ReportsOverTime(std::string_view id) const override {
    const std::lock_guard lock(mutex_);
    COPPICE_ASSIGN_OR_RETURN(const curator::StudyInfo info, Find(studies_, id));
    return curator::ReportSteps{
        .step_seconds = 10,
        .steps = {{.begin_unix_seconds = info.created_unix_seconds, .outcomes = info.outcomes}}};
  }

  std::vector<curator::StudyInfo> List(const Page& page) const override {
    const std::lock_guard lock(mutex_);
    return After(studies_, page);
  }

  std::optional<std::string> OwnerOf(std::string_view id) const override {
    const std::lock_guard lock(mutex_);
    const auto it = studies_.find(std::string(id));
    if (it == studies_.end()) return std::nullopt;
    return it->second.owner;
  }

  StatusOr<curator::StudyInfo> RotateSealingKey(std::string_view id,
                                                const SealingKeyName& current) override {
    const std::lock_guard lock(mutex_);
    StatusOr<curator::StudyInfo> info = Find(studies_, id);
    if (info.ok()) info->relay = curator::StudyRelayInfo{.sealing_key = current, .earlier_keys = 1};
    return info;
  }
  // Answers as for a batch that has come whole.
  StatusOr<curator::BatchProgress> DeliverBatch(std::string_view id,
                                                const curator::BatchPart& part) override {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    COPPICE_RETURN_IF_ERROR(Find(studies_, id).status());
    return curator::BatchProgress{.state = curator::BatchState::kStored,
                                  .received = part.first_report + part.tickets.size() / 32};
  }
  StatusOr<curator::StudyInfo> Seal(std::string_view id) override {
    const std::lock_guard lock(mutex_);
    StatusOr<curator::StudyInfo> info = Find(studies_, id);
    if (info.ok()) info->state = curator::StudyState::kSealed;
    return info;
  }

  Status Delete(std::string_view id) override {
    const std::lock_guard lock(mutex_);
    const Status status = Find(studies_, id).status();
    studies_.erase(std::string(id));
    return status;
  }

  // Remembers the rows of the last call.
  StatusOr<uint64_t> AddJoinRows(std::string_view id,
                                 absl::Span<const curator::JoinRow> rows) override {
    const std::lock_guard lock(mutex_);
    COPPICE_RETURN_IF_ERROR(Find(studies_, id).status());
    joined_.assign(rows.begin(), rows.end());
    return joined_.size();
  }
  std::vector<curator::JoinRow> joined() const {
    const std::lock_guard lock(mutex_);
    return joined_;
  }

  using curator::StudyCalls::MakeOffer;
  StatusOr<Offer> MakeOffer(std::string_view id, uint32_t count,
                            absl::Span<const std::string> submission_tokens) override {
    const std::lock_guard lock(mutex_);
    shown_tokens_.assign(submission_tokens.begin(), submission_tokens.end());
    const StatusOr<curator::StudyInfo> info = Find(studies_, id);
    if (!info.ok()) return info.status();
    return Offer{.terms_bytes = std::make_shared<const std::string>("the terms"),
                 .fingerprint = info->fingerprint,
                 .forest = offered_forest_,
                 .tickets = std::vector<Ticket>(count, ticket_),
                 .manifest = std::make_shared<const SignedManifest>(SignedManifest{
                     .bytes = "the manifest", .signature = {1}, .key = {2}, .endorsements = {}}),
                 .relayed = info->settings.relay.has_value()};
  }

  // Later offers have another ticket.
  void DrawTickets() {
    const std::lock_guard lock(mutex_);
    ++ticket_.id[0];
  }

  curator::CuratorKeys SigningKeysInUse() const override {
    const std::lock_guard lock(mutex_);
    return {.key = key_, .endorsements = {}};
  }
  void SetKey(const PublicKey& key) {
    const std::lock_guard lock(mutex_);
    key_ = key;
  }
  StatusOr<KeyProof> ProveKeys(std::string_view challenge) const override {
    KeyProof proof{.direct = direct_key()};
    if (!challenge.empty()) proof.signature.emplace().fill(static_cast<uint8_t>(challenge[0]));
    return proof;
  }
  // What GetNotice() says of every study that there is.
  void SetNotice(Notice notice) {
    const std::lock_guard lock(mutex_);
    notice_ = std::move(notice);
  }
  StatusOr<Notice> GetNotice(std::string_view id) override {
    const std::lock_guard lock(mutex_);
    COPPICE_RETURN_IF_ERROR(Find(studies_, id).status());
    return notice_;
  }
  // The key that OpenMessage() opens for, whatever key a message names.
  DirectKey direct_key() const { return DirectKeyOf(sealing_key_); }
  StatusOr<seal::OpenedRequest> OpenMessage(std::string_view, std::string_view encapsulated,
                                            std::string_view ciphertext) override {
    COPPICE_ASSIGN_OR_RETURN(auto opener,
                             seal::RequestOpener::Create(seal::Aead::kAes128Gcm, sealing_key_));
    return opener.Open(encapsulated, ciphertext);
  }
  StatusOr<std::vector<std::string>> IssueSubmissionTokens(uint32_t count) override {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    return std::vector<std::string>(count, std::string(32, 't'));
  }
  // The tokens that the last offer was asked for with.
  std::vector<std::string> shown_tokens() const {
    const std::lock_guard lock(mutex_);
    return shown_tokens_;
  }

  void Submit(std::string_view id, std::string_view fingerprint_bytes, curator::ReportBatch reports,
              curator::SubmitDone done) override {
    SubmittedBatch batch{std::string(id), std::string(fingerprint_bytes), {}};
    for (size_t i = 0; i < reports.size(); ++i) {
      batch.tickets.emplace_back(reports.ticket(i));
    }
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back({status_, batch.tickets, std::move(done)});
      batches_.push_back(std::move(batch));
      ++unanswered_;
    }
    changed_.notify_all();
  }

  using curator::StudyCalls::BuildModel;
  StatusOr<models::ModelInfo> BuildModel(std::string_view, std::string_view id,
                                         const curator::EstimatorOptions& options,
                                         const CancelCheck&) override {
    const std::lock_guard lock(mutex_);
    built_with_ = options;
    return Find(models_, id);
  }

  // Sets the counts that GetCounts() returns; counted() is its last request.
  void SetCounts(curator::StudyCounts counts) {
    const std::lock_guard lock(mutex_);
    counts_ = std::move(counts);
  }
  curator::CountsRequest counted() const {
    const std::lock_guard lock(mutex_);
    return counted_;
  }
  using curator::StudyCalls::GetCounts;
  StatusOr<curator::StudyCounts> GetCounts(std::string_view id,
                                           const curator::CountsRequest& request,
                                           curator::Viewer) override {
    const std::lock_guard lock(mutex_);
    counted_ = request;
    if (!status_.ok()) return status_;
    COPPICE_RETURN_IF_ERROR(Find(studies_, id).status());
    return counts_;
  }

  void SetPublicSide(curator::PublicSide side) {
    const std::lock_guard lock(mutex_);
    public_side_ = std::move(side);
  }
  StatusOr<curator::PublicSide> GetPublicSide(std::string_view id) override {
    const std::lock_guard lock(mutex_);
    COPPICE_RETURN_IF_ERROR(Find(studies_, id).status());
    return public_side_;
  }

  uint64_t ReportsOfNoStudy() const override { return 3; }
  size_t QueuedBytes() const override { return 0; }
  uint64_t SpoolBytes() const override { return 4096; }

 private:
  const std::shared_ptr<const PackedForest> offered_forest_ = std::make_shared<const PackedForest>(
      PackTrees({"tree 0", "tree 1", "tree 2", std::string(1000, '3'), "tree 4"}));

  const seal::SealingKey sealing_key_ = *seal::SealingKey::Generate();
  Notice notice_;
  Ticket ticket_;

  struct Waiting {
    Status status;
    std::vector<std::string> tickets;
    curator::SubmitDone done;
  };

  template <typename T>
  StatusOr<T> Find(const std::map<std::string, T>& all, std::string_view id) const {
    if (!status_.ok()) return status_;
    const auto found = all.find(std::string(id));
    if (found == all.end()) return NotFoundError("there is none of this name");
    return found->second;
  }

  template <typename T>
  static std::vector<T> After(const std::map<std::string, T>& all, const Page& page) {
    std::vector<T> infos;
    for (auto it = all.upper_bound(page.after); it != all.end() && infos.size() < page.size; ++it) {
      infos.push_back(it->second);
    }
    return infos;
  }

  // A ticket that starts with a number from 1 to 8 gets that outcome, any other is accepted.
  static std::vector<curator::ReportOutcome> Judge(const std::vector<std::string>& tickets) {
    std::vector<curator::ReportOutcome> outcomes;
    for (const std::string& ticket : tickets) {
      const int number = ticket.empty() ? 1 : ticket[0] - '0';
      outcomes.push_back(number >= 1 && number <= 8 ? static_cast<curator::ReportOutcome>(number)
                                                    : curator::ReportOutcome::kAccepted);
    }
    return outcomes;
  }

  void AnswerBatches() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !held_ && (closing_ || !waiting_.empty()); });
      if (waiting_.empty()) return;
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      if (next.status.ok()) {
        next.done(Judge(next.tickets));
      } else {
        next.done(next.status);
      }
      next.done = nullptr;
      lock.lock();
      --unanswered_;
      changed_.notify_all();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Status status_;
  std::map<std::string, curator::StudyInfo> studies_;
  std::map<std::string, models::ModelInfo> models_;
  std::vector<std::string> shown_tokens_;
  std::vector<curator::JoinRow> joined_;
  curator::StudyCounts counts_;
  curator::CountsRequest counted_;
  std::shared_ptr<const curator::StudySpec> created_;
  curator::EstimatorOptions built_with_;
  PublicKey key_ = {2};
  curator::PublicSide public_side_{};
  std::vector<SubmittedBatch> batches_;
  std::deque<Waiting> waiting_;
  size_t unanswered_ = 0;
  bool held_ = false;
  bool closing_ = false;
  std::thread answering_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_SERVING_SERVICE_FAKE_STUDIES_H_
