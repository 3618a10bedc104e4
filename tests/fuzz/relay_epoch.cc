// The files of a relay's deal, as somebody else or a bad disk may leave them. Input: which file is
// replaced or changed, where, and the bytes.

#include <string>
#include <string_view>

#include "tests/fuzz/fuzz_input.h"
#include "tests/server/relay/epoch/sample_epoch.h"
#include "tests/server/relay/epoch/simulated_disk.h"

namespace {

using coppice::relay::Epoch;
using coppice::testing::Require;
using coppice::testing::SimulatedDisk;
using coppice::testing::TakeByte;

constexpr uint64_t kTickets = 5;
constexpr uint64_t kMinBatch = 2;

void Fill(Epoch& epoch, uint64_t reports) {
  for (uint64_t i = 0; i < reports; ++i) {
    const auto dealt = epoch.Deal(coppice::testing::kDealing);
    if (dealt.ok()) (void)coppice::testing::SubmitTo(epoch, coppice::testing::ReportFor(*dealt));
  }
}

// Whatever the files hold: no impossible state, and a batch that matches its root.
void Use(Epoch& epoch) {
  Fill(epoch, 1);
  (void)epoch.ReadDocuments();
  const auto frozen = epoch.Freeze(coppice::testing::kOver);
  if (!frozen.ok() || frozen->dropped) return;
  const auto columns = epoch.Read(0, kTickets);
  Require(columns.ok() && columns->reports == frozen->reports, "a batch cannot be read");
  coppice::MerkleRootStream root;
  for (uint64_t i = 0; i < columns->reports; ++i) {
    root.Add({columns->tickets.substr(32 * i, 32), columns->encapsulated.substr(32 * i, 32),
              columns->ciphertexts.substr(coppice::testing::kCiphertextBytes * i,
                                          coppice::testing::kCiphertextBytes)});
  }
  Require(root.Root() == frozen->root, "a batch has another root");
}

void Change(SimulatedDisk& disk, const std::string& path, uint8_t how, std::string_view input) {
  std::string content = disk.Content(path);
  if (how % 2 == 0) {
    content = std::string(input);
  } else if (!content.empty()) {
    const size_t at = (size_t{TakeByte(input)} * 256 + TakeByte(input)) % content.size();
    content.replace(at, input.size(), std::string(input));
  }
  disk.Damage(path, content);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = coppice::testing::AsBytes(data, size);
  const uint8_t which = TakeByte(input);
  SimulatedDisk disk(which);
  const bool frozen = which / 8 % 2 == 1;
  {
    auto epoch = Epoch::Create("/epoch", coppice::testing::MakeSpec(kTickets, kMinBatch), disk);
    Require(epoch.ok(), "an epoch cannot be made");
    Fill(**epoch, 3);
    if (frozen) (void)(*epoch)->Freeze(coppice::testing::kOver);
  }
  static const char* const kFiles[] = {"/epoch/terms", "/epoch/tickets", "/epoch/pool",
                                       "/epoch/deal"};
  const std::string path = kFiles[which % (frozen ? 3 : 4)];
  Change(disk, path, which / 16, input);
  const auto epoch = Epoch::Open("/epoch", disk);
  if (epoch.ok()) Use(**epoch);
  return 0;
}
