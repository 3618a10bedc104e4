// Records of the store, as a damaged disk or another hand may leave them. Input: the kind, then the
// value; a study's is its record, its counts and the sums of its first tree, the first two after
// their lengths (two bytes each).

#include <memory>
#include <string>

#include "common/study/sha256.h"
#include "server/central/dataset_record.h"
#include "server/central/job_record.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/study/study_record.h"
#include "server/ledger/ledger_record.h"
#include "server/models/model_record.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/memory_store.h"

namespace {

using coppice::testing::TakeByte;

constexpr char kId[] = "s";

absl::string_view TakePart(absl::string_view& input) {
  const size_t length = TakeByte(input) + 256u * TakeByte(input);
  const absl::string_view part = input.substr(0, length);
  input.remove_prefix(part.size());
  return part;
}

void LoadStudy(absl::string_view input) {
  const absl::string_view record = TakePart(input);
  const absl::string_view counts = TakePart(input);
  coppice::testing::MemoryStore store;
  coppice::storage::StoreBatch batch;
  batch.Put(coppice::curator::CountsKey(kId), std::string(counts));
  if (!input.empty()) batch.Put(coppice::curator::SumsKey(kId, 0), std::string(input));
  (void)store.Apply(batch);
  (void)coppice::curator::LoadStudy(store, kId, record);
}

// With the hash that it must have: whoever can write the store can compute it.
void LoadEntry(absl::string_view input) {
  const coppice::Sha256Digest hash = coppice::Sha256({input});
  std::string value(hash.begin(), hash.end());
  value.append(input.data(), input.size());
  coppice::ledger::AccountBooks books;
  (void)coppice::ledger::LoadEntry(coppice::ledger::LedgerKey(kId, 0), value, books);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  absl::string_view input = coppice::testing::AsBytes(data, size);
  switch (TakeByte(input) % 6) {
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
    default:
      (void)coppice::curator::DecodeTombstone(kId, input);
  }
  return 0;
}
