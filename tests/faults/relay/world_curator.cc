#include <algorithm>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "tests/faults/relay/world_impl.h"

namespace coppice::relay_faults {
namespace {

SigningKey StrangersKey() {
  SigningKey::Seed seed{};
  seed.fill(99);
  return *SigningKey::FromSeed(seed);
}

std::string SignatureOf(const SigningKey& key, const std::string& header) {
  const Signature signature = *key.Sign(kBatchDomain, header);
  return {signature.begin(), signature.end()};
}

bool MayFail(const Status& status) {
  return IsFailedPrecondition(status) || IsUnavailable(status) || IsResourceExhausted(status) ||
         IsAborted(status);
}

}  // namespace

void World::StartCurator() {
  if (curator_.up()) return;
  checked_writes_.reset();  // the next process counts from 0
  Expect(curator_.Start(), "the curator does not start");
}

void World::EndCuratorIfDead() {
  if (!curator_.is_dead()) return;
  curator_.Kill();
  ++tally_.curator_ends;
}

void World::Rotate() {
  const auto study = curator_.studies().Get(kStudy);
  if (!study.ok() || !study->relay->sealing_key.has_value()) return;
  const auto rotated =
      curator_.studies().RotateSealingKey(kStudy, *study->relay->sealing_key).status();
  if (!rotated.ok() && !MayFail(rotated)) Expect(rotated, "the sealing key is not rotated");
}

void World::Seal() {
  book_.Sealed();
  const Status sealed = curator_.studies().Seal(kStudy).status();
  if (!sealed.ok() && !MayFail(sealed)) Expect(sealed, "the study is not sealed");
}

void World::BuildModel(bool is_final) {
  book_.CheckStore(curator_.disk());
  const auto model = curator_.studies().BuildModel(kStudy, is_final ? "final" : "", {});
  const auto study = curator_.studies().Get(kStudy);
  if (!model.ok()) {
    if (is_final || !MayFail(model.status())) Expect(model.status(), "no model is built");
    return;
  }
  ++tally_.models;
  const Certificate& certificate = model->model->certificate();
  book_.CheckModel({.reports = certificate.reports,
                    .batches = certificate.relay.batches,
                    .least_accepted = certificate.relay.least_accepted,
                    .honest_reports = certificate.relay.honest_reports,
                    .of_sealed = study.ok() && study->state != curator::StudyState::kOpen});
}

// Delivers the first reports of a batch that was sent, under another header.
void World::DeliverForged(const Batch& from, v1::BatchHeader header, size_t reports,
                          const SigningKey& key, uint64_t first) {
  std::vector<Report> some(from.reports.begin(),
                           from.reports.begin() + static_cast<std::ptrdiff_t>(reports));
  header.set_root(RootOf(some));
  v1::DeliverBatchRequest request;
  request.set_study(MakeName(kStudies, kStudy));
  request.set_header(header.SerializeAsString());
  request.set_signature(SignatureOf(key, request.header()));
  constexpr size_t kPart = 1000;
  for (size_t at = 0; at < some.size(); at += kPart) {
    request.set_first_report(first + at);
    request.clear_tickets();
    request.clear_encapsulated();
    request.clear_ciphertexts();
    for (size_t i = at; i < std::min(at + kPart, some.size()); ++i) {
      request.mutable_tickets()->append(some[i].ticket);
      request.mutable_encapsulated()->append(some[i].bytes.substr(0, 32));
      request.mutable_ciphertexts()->append(some[i].bytes.substr(32));
    }
    book_.Delivers(request, /*is_forged=*/true);
    AtCurator(request, /*is_forged=*/true).IgnoreError();
  }
}

void World::Forge(uint32_t which) {
  const std::vector<const Batch*> complete = book_.CompleteBatches();
  if (complete.empty() || !curator_.up()) return;
  const Batch& from = *complete[Below(static_cast<uint32_t>(complete.size()))];
  constexpr size_t kFew = 5;
  v1::BatchHeader header = from.facts;
  header.set_epoch(StrCat("forged", std::string(9, 0), std::string(1, char(++epochs_))));
  switch (which) {
    case 0:  // a batch that is too small
      header.set_reports(kFew);
      return DeliverForged(from, header, kFew, RelayKey(), 0);
    case 1:  // likewise, as devices were told
      header.set_reports(kFew);
      header.set_min_batch(kFew);
      return DeliverForged(from, header, kFew, RelayKey(), 0);
    case 2:  // a second batch of the same deal
      if (!book_.HasBegun(from)) return;
      header = from.facts;
      header.set_reports(from.reports.size() - 1);
      header.set_min_batch(std::min<uint64_t>(header.min_batch(), header.reports()));
      return DeliverForged(from, header, from.reports.size() - 1, RelayKey(), 0);
    case 3:  // a batch of another relay
      return DeliverForged(from, header, from.reports.size(), StrangersKey(), 0);
    case 4:  // reports beyond the batch's end
      return DeliverForged(from, header, kFew, RelayKey(), kFew);
    default:  // the same reports in another deal; each must count once
      return DeliverForged(from, header, from.reports.size(), RelayKey(), 0);
  }
}

}  // namespace coppice::relay_faults
