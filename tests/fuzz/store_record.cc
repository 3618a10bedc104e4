// Records of the store, as a damaged disk or somebody else may leave them. Input: the kind, then
// the value; a study's is its record, its counts and the sums of its first tree, the first two
// after their lengths (two bytes each).

#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "common/terms/sha256.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/study/study_record.h"
#include "server/datasets/dataset_record.h"
#include "server/datasets/job_record.h"
#include "server/datasets/ledger/ledger_record.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/audit_log/audit_record.h"
#include "server/store/models/model_record.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/memory_store.h"

namespace {

using coppice::testing::TakeByte;

constexpr char kId[] = "s";

std::string_view TakePart(std::string_view& input) {
  const size_t length = TakeByte(input) + 256u * TakeByte(input);
  const std::string_view part = input.substr(0, length);
  input.remove_prefix(part.size());
  return part;
}

void LoadStudy(std::string_view input) {
  const std::string_view record = TakePart(input);
  const std::string_view counts = TakePart(input);
  coppice::testing::MemoryStore store;
  coppice::storage::StoreBatch batch;
  batch.Put(coppice::curator::CountsKey(kId), std::string(counts));
  if (!input.empty()) batch.Put(coppice::curator::SumsKey(kId, 0), std::string(input));
  (void)store.Apply(batch);
  (void)coppice::curator::LoadStudy(store, kId, record);
}

// Adds the hash that the entry must have: anybody who can write the store can compute it.
void LoadEntry(std::string_view input) {
  const coppice::Sha256Digest hash = coppice::Sha256({input});
  std::string value(hash.begin(), hash.end());
  value.append(input.data(), input.size());
  coppice::ledger::AccountBooks books;
  (void)coppice::ledger::LoadEntry(coppice::ledger::LedgerKey(kId, 0), value, books);
}

// Records of an audit log, each after its key's number and its length.
void InspectLog(std::string_view input) {
  namespace audit = coppice::audit;
  const std::string keys[] = {
      std::string(audit::kHeadKey), std::string(audit::kSealKey), std::string(audit::kSaltKey),
      audit::EntryKey(0),           audit::EntryKey(1),           audit::OpenKey(0),
      audit::BaselineKey(kId),      "ledger/s/0000000000000000",  "hold/s/"};
  coppice::testing::MemoryStore store;
  coppice::storage::StoreBatch batch;
  while (!input.empty()) {
    const std::string& key = keys[TakeByte(input) % std::size(keys)];
    batch.Put(key, std::string(TakePart(input)));
  }
  (void)store.Apply(batch);
  (void)audit::InspectLog(store);
  (void)audit::ResumeLog(store, 0, "quarantine/");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = coppice::testing::AsBytes(data, size);
  switch (TakeByte(input) % 7) {
    case 0:
      LoadStudy(input);
      break;
    case 1:
      (void)coppice::models::DecodeModel("model/s/m", input);
      break;
    case 2:
      LoadEntry(input);
      break;
    case 3:
      (void)coppice::central::DecodeDataset("dataset/s/", input);
      break;
    case 4:
      (void)coppice::central::DecodeJob("job/j/", input);
      break;
    case 5:
      (void)coppice::curator::DecodeTombstone(kId, input);
      break;
    default:
      InspectLog(input);
  }
  return 0;
}
