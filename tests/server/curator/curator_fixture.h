// A small study and honest devices, for tests of the curator.

#ifndef COPPICE_TESTS_SERVER_CURATOR_CURATOR_FIXTURE_H_
#define COPPICE_TESTS_SERVER_CURATOR_CURATOR_FIXTURE_H_

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "common/terms/terms.h"
#include "server/curator/studies/studies.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::testing {

inline std::shared_ptr<const Table> PublicRows() {
  auto schema = std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("y", 0, 1)}, "label", {"no", "yes"}));
  auto table = std::make_shared<Table>(schema);
  for (int i = 0; i < 64; ++i) {
    const double x = (i % 8 + 0.5) / 8;
    const double y = (i / 8 + 0.5) / 8;
    table->Append(Row{x, y}, x > 0.5 ? 1 : 0);
  }
  return table;
}

inline curator::StudySpec Spec(std::string id, uint32_t trees = 1) {
  return {.id = id,
          .request_id = "request of " + id,
          .public_rows = PublicRows(),
          .partition = {.max_depth = 2, .trees = trees},
          .epsilon = *Budget::FromEpsilon(1),
          .mechanism = MechanismKind::kLaplaceSplit};
}

// Opens studies, whose clock says 1000 unless another is given, and the store's models, which
// replace those in `models`.
inline StatusOr<std::unique_ptr<curator::Studies>> OpenStudies(
    storage::Store& store, std::optional<models::Models>& models,
    std::function<int64_t()> clock = [] { return int64_t{1000}; },
    const curator::StudiesLimits& limits = {}) {
  models.emplace();
  auto studies =
      curator::Studies::Open(store, *models, std::move(clock), curator::SigningKeys(), limits);
  if (!studies.ok()) return studies;
  const Status loaded = models->Load(store);
  if (!loaded.ok()) return loaded;
  return studies;
}

inline std::string Bytes(const Fingerprint& fingerprint) {
  return {fingerprint.begin(), fingerprint.end()};
}

// A report that a test may still change.
struct SubmittedReport {
  std::string ticket;
  std::string payload;
};

inline curator::ReportBatch BatchOf(const std::vector<SubmittedReport>& reports) {
  curator::ReportBatch batch;
  for (const SubmittedReport& report : reports) batch.Add(report.ticket, report.payload);
  return batch;
}

// `count` reports by devices with the row (leaf 0, class 1), each with a fresh ticket.
inline std::vector<SubmittedReport> HonestReports(curator::Studies& studies,
                                                  const curator::StudyInfo& study, uint32_t count) {
  const auto offer = studies.MakeOffer(study.id, count);
  EXPECT_OK(offer);
  if (!offer.ok()) return {};
  const auto mechanisms = *MakeMechanisms(*study.terms, *study.forest);
  OpenSslRandom random;
  std::vector<SubmittedReport> reports;
  for (const Ticket& ticket : offer->tickets) {
    const TicketDraw draw = DrawOf(ticket);
    const LocalMechanism& mechanism =
        *mechanisms[draw.Tree(static_cast<uint32_t>(mechanisms.size()))];
    reports.push_back({.ticket = ticket.ToBytes(),
                       .payload = *mechanism.Randomize({.leaf = 0, .label = 1},
                                                       draw.Column(mechanism.columns()), random)});
  }
  return reports;
}

using Answer = StatusOr<std::vector<curator::ReportOutcome>>;

// The future is ready once the curator has answered.
inline std::future<Answer> Send(curator::Studies& studies, const std::string& study,
                                const std::string& fingerprint,
                                const std::vector<SubmittedReport>& reports) {
  auto promise = std::make_shared<std::promise<Answer>>();
  studies.Submit(study, fingerprint, BatchOf(reports),
                 [promise](Answer answer) { promise->set_value(std::move(answer)); });
  return promise->get_future();
}

inline Answer SendAndWait(curator::Studies& studies, const curator::StudyInfo& study,
                          const std::vector<SubmittedReport>& reports) {
  return Send(studies, study.id, Bytes(study.fingerprint), reports).get();
}

inline uint64_t CountOf(const curator::StudyInfo& study, curator::ReportOutcome outcome) {
  return study.outcomes[static_cast<size_t>(outcome)];
}

// What accepted, duplicate and rejected reports add up to.
inline uint64_t Received(const curator::StudyInfo& study) {
  uint64_t received = 0;
  for (const uint64_t count : study.outcomes) received += count;
  return received;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_CURATOR_CURATOR_FIXTURE_H_
