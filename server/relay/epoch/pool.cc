#include "server/relay/epoch/pool.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/relay/epoch/bytes.h"

namespace coppice::relay {
namespace {

constexpr std::string_view kPoolMagic("coppice.v1.pool\0", 16);
constexpr std::string_view kSlotLabel("coppice.v1.pool_slot\0", 21);
constexpr std::string_view kFrozenLabel("coppice.v1.pool_frozen\0", 23);
constexpr std::string_view kDeliveredLabel("coppice.v1.pool_delivered\0", 26);

constexpr uint64_t kFrozenOffset = kSectorBytes;
constexpr uint64_t kDeliveredOffset = 2 * kSectorBytes;
constexpr uint64_t kHeaderBytes = 4096;
constexpr uint64_t kScanBytes = uint64_t{1} << 20;  // read at once
constexpr char kFullSlot = 1;

uint64_t SlotBytesFor(uint64_t ciphertext_bytes) {
  return 1 + kEncapsulatedBytes + ciphertext_bytes + kCheckBytes;
}

std::string HeadFor(const PoolShape& shape) {
  const std::string head = StrCat(kPoolMagic, NumberBytes(shape.slots),
                                  NumberBytes(shape.ciphertext_bytes), AsBytes(shape.terms));
  return StrCat(head, CheckOf({head}));
}

std::string FrozenBytes(const Frozen& frozen, const PoolShape& shape) {
  const std::string bytes = StrCat(NumberBytes(frozen.dropped ? 1 : 0), NumberBytes(frozen.reports),
                                   AsBytes(frozen.root));
  return StrCat(bytes, CheckOf({kFrozenLabel, AsBytes(shape.terms), bytes}));
}

std::optional<Frozen> ParseFrozen(std::string_view sector, const PoolShape& shape) {
  const std::string_view bytes = sector.substr(0, 2 * kNumberBytes + sizeof(Sha256Digest));
  Frozen frozen{.dropped = NumberIn(bytes) == 1, .reports = NumberIn(bytes.substr(kNumberBytes))};
  std::copy_n(bytes.begin() + 2 * kNumberBytes, frozen.root.size(), frozen.root.begin());
  const std::string expected = FrozenBytes(frozen, shape);
  if (sector.substr(0, expected.size()) != expected) return std::nullopt;
  return frozen;
}

std::string DeliveredBytes(const PoolShape& shape) {
  return CheckOf({kDeliveredLabel, AsBytes(shape.terms)});
}

}  // namespace

StatusOr<std::string> MakePoolFile(const std::string& path, const PoolShape& shape, Disk& disk) {
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<DiskFile> file, disk.CreateFile(path));
  COPPICE_RETURN_IF_ERROR(
      file->Allocate(kHeaderBytes + shape.slots * SlotBytesFor(shape.ciphertext_bytes)));
  COPPICE_RETURN_IF_ERROR(file->Write(0, HeadFor(shape)));
  COPPICE_RETURN_IF_ERROR(file->Sync());
  return file->Identity();
}

StatusOr<std::unique_ptr<Pool>> Pool::Open(const std::string& path, const PoolShape& shape,
                                           Disk& disk) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<DiskFile> file, disk.OpenFile(path));
  COPPICE_RETURN_IF_ERROR(file->Lock());
  std::unique_ptr<Pool> pool(new Pool(path, shape, std::move(file)));
  // A process that was killed may have written without syncing: nobody may build on that before it
  // is on the disk.
  COPPICE_RETURN_IF_ERROR(pool->Sync());
  COPPICE_RETURN_IF_ERROR(pool->ReadHeader());
  return pool;
}

Status Pool::ReadHeader() {
  COPPICE_ASSIGN_OR_RETURN(const uint64_t size, file_->Size());
  if (size != kHeaderBytes + shape_.slots * SlotBytes()) {
    return DataLossError(StrCat(path_, ": has ", size, " bytes, and not room for ", shape_.slots,
                                " reports and no more"));
  }
  COPPICE_ASSIGN_OR_RETURN(const std::string read, file_->Read(0, kHeaderBytes));
  const std::string_view header = read;
  const std::string head = HeadFor(shape_);
  if (header.substr(0, head.size()) != head) {
    return DataLossError(StrCat(path_, ": its header is damaged, or belongs to another epoch"));
  }
  frozen_ = ParseFrozen(header.substr(kFrozenOffset, kSectorBytes), shape_);
  const std::string delivered = DeliveredBytes(shape_);
  delivered_ =
      frozen_.has_value() && header.substr(kDeliveredOffset, delivered.size()) == delivered;
  return OkStatus();
}

uint64_t Pool::SlotBytes() const { return SlotBytesFor(shape_.ciphertext_bytes); }

std::string Pool::SlotCheck(const Ticket& ticket, std::string_view report) const {
  return CheckOf({kSlotLabel, AsBytes(shape_.terms), ticket.ToBytes(), report});
}

Status Pool::Scan(uint64_t first, absl::Span<const Ticket> tickets,
                  absl::FunctionRef<Status(uint64_t slot, const SlotReport& report)> visit) const {
  const uint64_t at_once = std::max<uint64_t>(1, kScanBytes / SlotBytes());
  while (!tickets.empty()) {
    const absl::Span<const Ticket> some = tickets.subspan(0, at_once);
    COPPICE_ASSIGN_OR_RETURN(const std::string read, file_->Read(kHeaderBytes + first * SlotBytes(),
                                                                 some.size() * SlotBytes()));
    std::string_view rest = read;
    for (size_t i = 0; i < some.size(); ++i) {
      std::string_view slot = Take(rest, SlotBytes());
      if (Take(slot, 1)[0] != kFullSlot) continue;
      const std::string_view report = Take(slot, slot.size() - kCheckBytes);
      if (slot != SlotCheck(some[i], report)) continue;
      COPPICE_RETURN_IF_ERROR(
          visit(first + i, {.encapsulated = report.substr(0, kEncapsulatedBytes),
                            .ciphertext = report.substr(kEncapsulatedBytes)}));
    }
    first += some.size();
    tickets.remove_prefix(some.size());
  }
  return OkStatus();
}

Status Pool::Remember(Status status) {
  if (!status.ok()) failed_ = status;
  return status;
}

Status Pool::Write(uint64_t slot, const Ticket& ticket, const SlotReport& report) {
  COPPICE_RETURN_IF_ERROR(failed_);
  const std::string bytes = StrCat(report.encapsulated, report.ciphertext);
  return Remember(file_->Write(kHeaderBytes + slot * SlotBytes(),
                               StrCat(std::string(1, kFullSlot), bytes, SlotCheck(ticket, bytes))));
}

Status Pool::Sync() {
  COPPICE_RETURN_IF_ERROR(failed_);
  return Remember(file_->Sync());
}

Status Pool::WriteDurably(uint64_t offset, const std::string& bytes) {
  COPPICE_RETURN_IF_ERROR(failed_);
  COPPICE_RETURN_IF_ERROR(Remember(file_->Write(offset, bytes)));
  return Sync();
}

Status Pool::MarkFrozen(const Frozen& frozen) {
  COPPICE_RETURN_IF_ERROR(WriteDurably(kFrozenOffset, FrozenBytes(frozen, shape_)));
  frozen_ = frozen;
  return OkStatus();
}

Status Pool::MarkDelivered() {
  COPPICE_RETURN_IF_ERROR(WriteDurably(kDeliveredOffset, DeliveredBytes(shape_)));
  delivered_ = true;
  return OkStatus();
}

}  // namespace coppice::relay
