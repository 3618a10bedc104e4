#include "server/relay/epoch/folder.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/relay/epoch/bytes.h"
#include "server/relay/epoch/deal.h"

namespace coppice::relay {
namespace {

constexpr std::string_view kTermsMagic("coppice.v1.epoch\0", 17);
constexpr size_t kTermsHeadBytes =
    17 + sizeof(EpochId) + 5 * kNumberBytes + 2 * sizeof(Sha256Digest) + kCheckBytes;

std::string TermsPath(const std::string& folder) { return StrCat(folder, "/terms"); }
std::string TicketsPath(const std::string& folder) { return StrCat(folder, "/tickets"); }

// The head of the terms file; the documents follow it.
struct TermsHead {
  EpochRules rules;
  uint64_t tickets = 0;
  Sha256Digest tickets_digest{};
  Sha256Digest documents_digest{};
};

std::string HeadBytes(const TermsHead& head) {
  const EpochRules& rules = head.rules;
  const std::string bytes =
      StrCat(kTermsMagic, AsBytes(rules.epoch), NumberBytes(rules.min_batch),
             NumberBytes(static_cast<uint64_t>(rules.deal_until_unix_seconds)),
             NumberBytes(static_cast<uint64_t>(rules.freeze_at_unix_seconds)),
             StrCat(NumberBytes(rules.ciphertext_bytes), NumberBytes(head.tickets),
                    AsBytes(head.tickets_digest), AsBytes(head.documents_digest)));
  return StrCat(bytes, CheckOf({bytes}));
}

uint64_t TakeNumber(std::string_view& bytes) { return NumberIn(Take(bytes, kNumberBytes)); }

template <typename Bytes>
void TakeBytes(std::string_view& from, Bytes& to) {
  const std::string_view taken = Take(from, to.size());
  std::copy(taken.begin(), taken.end(), to.begin());
}

StatusOr<TermsHead> ParseHead(std::string_view bytes, const std::string& path) {
  const std::string_view all = bytes;
  TermsHead head;
  Take(bytes, kTermsMagic.size());
  TakeBytes(bytes, head.rules.epoch);
  head.rules.min_batch = TakeNumber(bytes);
  head.rules.deal_until_unix_seconds = static_cast<int64_t>(TakeNumber(bytes));
  head.rules.freeze_at_unix_seconds = static_cast<int64_t>(TakeNumber(bytes));
  head.rules.ciphertext_bytes = TakeNumber(bytes);
  head.tickets = TakeNumber(bytes);
  TakeBytes(bytes, head.tickets_digest);
  TakeBytes(bytes, head.documents_digest);
  if (HeadBytes(head) != all || head.tickets > kMaxEpochTickets ||
      head.rules.ciphertext_bytes > kMaxCiphertextBytes) {
    return DataLossError(StrCat(path, ": the terms of the epoch are damaged"));
  }
  return head;
}

StatusOr<TermsHead> ReadHead(const DiskFile& file, const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(const std::string bytes, file.Read(0, kTermsHeadBytes));
  return ParseHead(bytes, path);
}

Status WriteNewFile(const std::string& path, std::string_view head, std::string_view rest,
                    Disk& disk) {
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<DiskFile> file, disk.CreateFile(path));
  COPPICE_RETURN_IF_ERROR(file->Write(0, head));
  if (!rest.empty()) COPPICE_RETURN_IF_ERROR(file->Write(head.size(), rest));
  return file->Sync();
}

// A ticket consists of its bytes alone, so a pool in memory has the form of the tickets file.
static_assert(sizeof(Ticket) == kTicketBytes);
std::string_view BytesOf(const std::vector<Ticket>& tickets) {
  return {reinterpret_cast<const char*>(tickets.data()), tickets.size() * kTicketBytes};
}

StatusOr<std::vector<Ticket>> ReadTickets(const std::string& path, const TermsHead& head,
                                          Disk& disk) {
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<DiskFile> file, disk.OpenFile(path));
  constexpr uint64_t kTicketsAtOnce = uint64_t{1} << 14;
  std::vector<Ticket> tickets(head.tickets);
  for (uint64_t first = 0; first < head.tickets; first += kTicketsAtOnce) {
    const uint64_t count = std::min(kTicketsAtOnce, head.tickets - first);
    COPPICE_ASSIGN_OR_RETURN(const std::string bytes,
                             file->Read(first * kTicketBytes, count * kTicketBytes));
    std::memcpy(static_cast<void*>(tickets.data() + first), bytes.data(), bytes.size());
  }
  if (Sha256({BytesOf(tickets)}) != head.tickets_digest) {
    return DataLossError(StrCat(path, ": the tickets of the epoch are damaged"));
  }
  return tickets;
}

}  // namespace

std::string ParentOf(const std::string& folder) {
  const size_t slash = folder.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : folder.substr(0, slash);
}

StatusOr<Sha256Digest> WriteContents(const std::string& folder, const EpochSpec& spec, Disk& disk) {
  const std::string head = HeadBytes({.rules = spec.rules,
                                      .tickets = spec.tickets.size(),
                                      .tickets_digest = Sha256({BytesOf(spec.tickets)}),
                                      .documents_digest = Sha256({spec.documents})});
  COPPICE_RETURN_IF_ERROR(WriteNewFile(TermsPath(folder), head, spec.documents, disk));
  COPPICE_RETURN_IF_ERROR(WriteNewFile(TicketsPath(folder), BytesOf(spec.tickets), "", disk));
  return Sha256({head});
}

StatusOr<EpochContents> ReadContents(const std::string& folder, Disk& disk) {
  const std::string path = TermsPath(folder);
  COPPICE_RETURN_IF_ERROR(ReadEpochDocuments(folder, disk).status());  // shows damage at once
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<DiskFile> file, disk.OpenFile(path));
  COPPICE_ASSIGN_OR_RETURN(const TermsHead head, ReadHead(*file, path));
  COPPICE_ASSIGN_OR_RETURN(std::vector<Ticket> tickets,
                           ReadTickets(TicketsPath(folder), head, disk));
  return EpochContents{
      .rules = head.rules, .tickets = std::move(tickets), .terms = Sha256({HeadBytes(head)})};
}

StatusOr<std::string> ReadEpochDocuments(const std::string& folder, Disk& disk) {
  const std::string path = TermsPath(folder);
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<DiskFile> file, disk.OpenFile(path));
  COPPICE_ASSIGN_OR_RETURN(const TermsHead head, ReadHead(*file, path));
  COPPICE_ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  COPPICE_ASSIGN_OR_RETURN(std::string documents,
                           file->Read(kTermsHeadBytes, size - kTermsHeadBytes));
  if (Sha256({documents}) != head.documents_digest) {
    return DataLossError(StrCat(path, ": the documents of the epoch are damaged"));
  }
  return documents;
}

Status RemoveContents(const std::string& folder, Disk& disk) {
  const StatusOr<std::vector<std::string>> names = disk.List(folder);
  if (IsNotFound(names.status())) return OkStatus();
  COPPICE_RETURN_IF_ERROR(names.status());
  COPPICE_RETURN_IF_ERROR(EraseDealFile(DealPath(folder), disk));
  for (const std::string& name : *names) {
    const Status removed = disk.RemoveFile(StrCat(folder, "/", name));
    if (!removed.ok() && !IsNotFound(removed)) return removed;
  }
  return disk.RemoveFolder(folder);
}

}  // namespace coppice::relay
