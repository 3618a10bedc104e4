// The audit of a batch with the relay's own deal: a fresh key for each batch, as for an epoch, and
// the order that the key deals in. False alarm: 1e-6.

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/ldp/amplification.h"
#include "common/privacy/delta.h"
#include "server/lab/measure_epsilon/audit.h"
#include "server/relay/epoch/deal.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

// One file in memory: a deal's file needs no more, and half a million of them need no disk.
class OneFileDisk final : public relay::Disk {
 public:
  StatusOr<std::unique_ptr<relay::DiskFile>> CreateFile(const std::string& path) override {
    return OpenFile(path);
  }
  StatusOr<std::unique_ptr<relay::DiskFile>> OpenFile(const std::string&) override {
    return std::make_unique<File>(bytes_);
  }
  Status RemoveFile(const std::string&) override { return OkStatus(); }
  Status CreateFolder(const std::string&) override { return OkStatus(); }
  Status RemoveFolder(const std::string&) override { return OkStatus(); }
  Status RenameFolder(const std::string&, const std::string&) override { return OkStatus(); }
  Status SyncFolder(const std::string&) override { return OkStatus(); }
  StatusOr<std::vector<std::string>> List(const std::string&) const override {
    return std::vector<std::string>();
  }

 private:
  class File final : public relay::DiskFile {
   public:
    explicit File(std::string& bytes) : bytes_(bytes) {}

    Status Lock() override { return OkStatus(); }
    StatusOr<std::string> Identity() const override { return std::string("one"); }
    StatusOr<uint64_t> Size() const override { return bytes_.size(); }
    StatusOr<std::string> Read(uint64_t offset, uint64_t bytes) const override {
      if (offset + bytes > bytes_.size()) return DataLossError("beyond the end");
      return bytes_.substr(offset, bytes);
    }
    Status Allocate(uint64_t bytes) override {
      bytes_.resize(std::max<size_t>(bytes_.size(), bytes));
      return OkStatus();
    }
    Status Write(uint64_t offset, std::string_view bytes) override {
      bytes_.resize(std::max(bytes_.size(), offset + bytes.size()));
      bytes_.replace(offset, bytes.size(), bytes.data(), bytes.size());
      return OkStatus();
    }
    Status Sync() override { return OkStatus(); }

   private:
    std::string& bytes_;
  };

  std::string bytes_;
};

// Slots are tickets in their order.
StatusOr<std::vector<uint32_t>> DealAsARelay(uint32_t tickets, PrivateRandom&) {
  OneFileDisk disk;
  COPPICE_RETURN_IF_ERROR(relay::MakeDealFile("deal", disk));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<relay::Dealer> dealer,
                           relay::Dealer::Open("deal", tickets, disk));
  std::vector<uint32_t> deal;
  for (uint32_t device = 0; device < tickets; ++device) {
    COPPICE_ASSIGN_OR_RETURN(deal.emplace_back(), dealer->DealSlot());
  }
  return deal;
}

TEST(RelayDealAuditTest, TheRelaysDealShowsNoMoreThanABatchClaims) {
  constexpr uint32_t kReports = 20;
  constexpr uint64_t kDelta = kDeltaOne / 1000;
  const Budget local = *Budget::FromEpsilon(1);
  const auto binary =
      *MakeLocalMechanism(MechanismKind::kDirect, local, {.leaves = 1, .classes = 2});
  ASSERT_OK_AND_ASSIGN(const Budget claimed,
                       EpsilonBound({kReports, local, binary->TwoSidedMass()}, kDelta));
  ASSERT_OK_AND_ASSIGN(const lab::AuditSubject subject,
                       lab::SubjectOfBatch(*binary, kReports, DealAsARelay));
  ASSERT_OK_AND_ASSIGN(const lab::AuditResult result,
                       lab::RunAudit(subject, {.trials = 300'000, .delta = 0.001}));
  EXPECT_LE(result.epsilon_lower_bound, claimed.epsilon());
  EXPECT_GE(result.epsilon_lower_bound, 0.25 * claimed.epsilon()) << "it is seen at all";
}

}  // namespace
}  // namespace coppice
