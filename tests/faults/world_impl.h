// The World of world.h: one object, in files by what happens to it.
//
//   world.cc           the steps of a schedule
//   world_process.cc   the curator starts, ends, crashes; its operator changes the signing key
//   world_studies.cc   studies are made, sealed, deleted, retired; models are built
//   world_devices.cc   devices get offers and answer; messages travel
//   world_forgers.cc   others send what no device sends
//   world_backups.cc   copies and backups are made, and take the store's place
//   world_checks.cc    what is looked at after each step, and at the end

#ifndef COPPICE_TESTS_FAULTS_WORLD_IMPL_H_
#define COPPICE_TESTS_FAULTS_WORLD_IMPL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/curator/studies/studies.h"
#include "tests/faults/curator_process.h"
#include "tests/faults/faulty_disk.h"
#include "tests/faults/fleet.h"
#include "tests/faults/forgeries.h"
#include "tests/faults/invariants.h"
#include "tests/faults/key_history.h"
#include "tests/faults/known_backups.h"
#include "tests/faults/offer_watch.h"
#include "tests/faults/schedule.h"
#include "tests/faults/traffic.h"
#include "tests/faults/twins.h"
#include "tests/faults/world.h"

namespace coppice::testing {

// How the process ends when the disk stops.
struct Crash {
  bool power_cut = false;
  Unsynced unsynced = Unsynced::kKept;
  uint64_t seed = 0;
};

class World final : public faults::World<Step> {
 public:
  World(const std::string& folder, const RunOptions& options);
  ~World() override { EndProcess(); }

  Tally MakeTally() const;

 private:
  // ---- world.cc
  void Begin(absl::Span<const Step>) override { Start(); }
  void Do(const Step& step) override;
  void StepClock(int64_t seconds);
  void SetSpace(bool low, bool full);
  void Expect(const Status& status) {
    if (!status.ok()) Violation(status.ToString());
  }
  // Whether the error says "try again".
  static bool IsExcused(const Status& status) {
    return IsUnavailable(status) || IsResourceExhausted(status);
  }

  // ---- world_process.cc
  bool up() const { return curator_.up(); }
  curator::Studies& studies() { return curator_.studies(); }
  void Start();
  void AfterStart();
  void EndProcess();
  void EndByCrash();
  void CrashAfter(uint32_t changes, const Crash& crash);
  void Stop();
  // Lets writes go on if they waited.
  void Flow();
  void ChangeKey(bool endorsed, bool now);
  void StartAsStranger();
  void Pin(uint32_t gateway);

  // ---- world_studies.cc
  std::string StudyOf(uint32_t slot) const;
  bool MayHaveExpired(const StudyTruth& truth) const;
  // Gives the slot's next study an id that no study ever had.
  void NextGeneration(uint32_t slot) { generation_[slot] = ++newest_generation_[slot]; }
  void NextGeneration(const std::string& gone);
  void MakeStudy(uint32_t slot);
  void Seal(uint32_t slot);
  void Remake(uint32_t slot);
  void BuildModel(uint32_t slot);
  void CheckModel(const std::string& study, const Books& books, const Model& model,
                  const curator::EstimatorOptions& options);
  void Sweep();

  // ---- world_devices.cc
  const std::string& TokenOf(uint32_t device);
  std::optional<curator::Studies::Offer> FetchOffer(const std::string& study, uint32_t device);
  void Offer(uint32_t device);
  bool AcceptsNow(uint32_t gateway);
  std::optional<Message> Pending(uint32_t device, bool heard);
  void Send(uint32_t device, bool heard);
  void SendBatch(uint32_t gateway, uint32_t slot);
  std::vector<Message> GroupOf(uint32_t first, uint32_t count);
  void Queue(const std::vector<Message>& messages);
  void SendTogether(const std::vector<Message>& messages);
  void Resend(uint32_t gateway, uint32_t slot);
  void AnswerAnew(uint32_t device);
  void Arrive(uint32_t which);
  void Submit(const Message& message);
  void TakeAnswers();
  void Take(const Answered& answer);
  void Note(const std::string& study, uint32_t device, curator::ReportOutcome outcome);
  bool IsExplained(const StudyTruth& truth, curator::ReportOutcome refusal) const;

  // ---- world_forgers.cc
  std::optional<Fingerprint> FingerprintOf(const std::string& study);
  void SendForged(uint32_t device, ReportForgery forgery);
  void AskWithBadToken(uint32_t device, TokenMistake mistake);
  void MeetImpostor(uint32_t device, ManifestForgery forgery);

  // ---- world_backups.cc
  void TakeSnapshot();
  void PutBack();
  // Sends `meanwhile` after `changes` changes of making the backup.
  void Backup(const std::vector<Message>& meanwhile = {}, uint32_t changes = 0);
  void Restore(bool oldest);
  std::vector<storage::StoreBackup> LookAtBackups();
  void GoOnFrom(const Known& known);

  // ---- world_checks.cc
  void EndStep() override;
  void Check();
  void CheckShown(const curator::StudyInfo& info, const Books& books);
  void Finish() override;
  void CheckAllCounted();
  void SendAllAgain();
  void EndWithRestore();

  const std::string folder_;
  const Bug bug_;
  FaultyDisk disk_;
  Fleet fleet_;
  std::atomic<int64_t> now_{1'700'000'000};
  int64_t latest_ = 1'700'000'000;  // the latest time that the clock ever said
  CuratorProcess curator_;
  Traffic traffic_;
  std::string data_;     // the data directory
  size_t restores_ = 0;  // each has a directory of its own
  Crash crash_;
  bool slow_ = false;
  bool low_ = false;
  bool full_ = false;
  bool restored_ = false;      // at any time
  bool put_back_now_ = false;  // since the last start

  std::map<std::string, StudyTruth> truths_;         // by the study's id
  std::map<std::string, curator::StudySpec> specs_;  // likewise
  std::map<uint32_t, uint32_t> generation_;          // by slot, that of its study
  std::map<uint32_t, uint32_t> newest_generation_;
  std::map<uint32_t, std::string> tokens_;  // by device
  std::deque<Message> network_;
  std::optional<Known> copied_;  // what the snapshot knows
  KnownBackups backups_;

  KeyHistory keys_;
  bool knows_first_key_ = false;
  size_t signer_ = 0;  // the key that signs since the last start
  std::array<Follower, kGateways> followers_;
  OfferWatch watch_;

  size_t models_built_ = 0;
  Tally tally_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_WORLD_IMPL_H_
