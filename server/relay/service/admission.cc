#include "server/relay/service/admission.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "common/base/file_permissions.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"

namespace coppice::relay {
namespace {

constexpr std::string_view kCertificatePrefix = "certificate:";
constexpr size_t kMaxNameBytes = 256;

Status BadAdmission(const std::string& file, std::string_view problem) {
  return InvalidArgumentError(StrCat("--admission ", file, problem));
}

// Draws 32 bytes that no other process has.
StatusOr<std::string> DrawHashKey() {
  OpenSslRandom random;
  std::string key;
  while (key.size() < 32) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t byte, random.UniformBelow(256));
    key.push_back(static_cast<char>(byte));
  }
  return key;
}

std::optional<Sha256Digest> DigestFromHex(std::string_view hex) {
  const bool is_hex = std::all_of(hex.begin(), hex.end(), [](char c) { return IsAsciiXdigit(c); });
  Sha256Digest digest{};
  if (!is_hex || hex.size() != 2 * digest.size()) return std::nullopt;
  const std::string bytes = HexStringToBytes(hex);
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

bool IsName(std::string_view name) {
  return name.size() <= kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return c > ' ' && c != 127; });
}

}  // namespace

StatusOr<std::unique_ptr<Admission>> Admission::Open(const std::string& file) {
  COPPICE_ASSIGN_OR_RETURN(std::string hash_key, DrawHashKey());
  auto admission = std::unique_ptr<Admission>(new Admission(file, std::move(hash_key)));
  COPPICE_RETURN_IF_ERROR(admission->Reload());
  return admission;
}

std::unique_ptr<Admission> Admission::OfEverybody() {
  return std::unique_ptr<Admission>(new Admission("", ""));
}

Status Admission::Reload() {
  if (file_.empty()) return OkStatus();
  {
    // Taken before reading: a change in between is seen later. Set for a bad file too, so that it
    // is reported once.
    const Stamp stamp = StampOf(file_);
    const MutexLock lock(mutex_);
    stamp_ = stamp;
  }
  COPPICE_ASSIGN_OR_RETURN(Allowed allowed, Read());
  const MutexLock lock(mutex_);
  allowed_ = std::move(allowed);
  return OkStatus();
}

StatusOr<Admission::Allowed> Admission::Read() const {
  if (IsWorldAccessible(file_)) {
    return FailedPreconditionError(
        StrCat("--admission ", file_,
               ": everybody on this machine may read or change it, and it says who may take "
               "part: chmod o-rwx it"));
  }
  const StatusOr<std::string> text = ReadTextFile(file_);
  if (text.ok()) return Parse(*text);
  return Status(text.status().code(), StrCat("--admission ", text.status().message()));
}

bool Admission::HasChanged() const {
  if (file_.empty()) return false;
  const Stamp now = StampOf(file_);
  const MutexLock lock(mutex_);
  return now != stamp_;
}

Status Admission::Admit(std::string_view study, const EpochId& epoch,
                        const ShownCredentials& shown) {
  if (file_.empty()) return OkStatus();
  const MutexLock lock(mutex_);
  const std::optional<Allowance> allowance = Find(shown);
  if (!allowance.has_value()) {
    return UnauthenticatedError(
        "this relay deals tickets to those whom it knows: show the token, or the client "
        "certificate, that its operator gave you");
  }
  auto taken = taken_.find(study);
  if (taken == taken_.end()) taken = taken_.emplace(study, Taken{}).first;
  uint32_t& tickets = taken->second.Of(epoch)[allowance->name];
  if (tickets >= allowance->tickets) {
    return ResourceExhaustedError(StrCat("you have taken your ", allowance->tickets,
                                         " tickets of this deal; the next deal has new ones"));
  }
  ++tickets;
  return OkStatus();
}

Admission::TicketsByName& Admission::Taken::Of(const EpochId& deal) {
  if (deal == epoch_before) return tickets_before;
  if (deal != epoch) {
    epoch_before = std::exchange(epoch, deal);
    tickets_before = std::exchange(tickets, {});
  }
  return tickets;
}

Admission::Stamp Admission::StampOf(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return {};
  return {static_cast<int64_t>(status.st_ino), static_cast<int64_t>(status.st_size),
          static_cast<int64_t>(status.st_ctim.tv_sec),
          static_cast<int64_t>(status.st_ctim.tv_nsec)};
}

Admission::NameHash Admission::HashOfName(std::string_view name) const {
  // The key has a fixed length, so the hash depends on both parts unambiguously.
  const Sha256Digest inner = Sha256({hash_key_, name});
  NameHash hash{};
  std::copy_n(inner.begin(), hash.size(), hash.begin());
  return hash;
}

StatusOr<Admission::Allowed> Admission::Parse(std::string_view text) const {
  Allowed allowed;
  size_t number = 0;
  for (const std::string_view line : StrSplit(text, '\n')) {
    ++number;
    const std::string_view content = line.substr(0, line.find('#'));
    const std::vector<std::string_view> fields = StrSplit(content, ByAnyChar(" \t\r"), SkipEmpty());
    if (fields.empty()) continue;
    const Status status = ParseLine(fields, allowed);
    if (!status.ok()) {
      return BadAdmission(file_, StrCat(", line ", number, ": ", status.message()));
    }
  }
  if (!allowed.tokens.empty() || !allowed.certificates.empty()) return allowed;
  return BadAdmission(file_,
                      ": names nobody; give a line NAME SHA256-OF-TOKEN for each device "
                      "(`coppice-relay token` makes one)");
}

Status Admission::ParseLine(const std::vector<std::string_view>& fields, Allowed& allowed) const {
  std::string_view hex = fields.size() > 1 ? fields[1] : "";
  const bool is_certificate = ConsumePrefix(&hex, kCertificatePrefix);
  const std::optional<Sha256Digest> digest = DigestFromHex(hex);
  if (fields.size() < 2 || fields.size() > 3 || !digest.has_value() || !IsName(fields[0])) {
    return InvalidArgumentError(
        "needs NAME, then the SHA-256 of its token in 64 hexadecimal digits (or certificate: and "
        "that of its certificate), and perhaps a number of tickets");
  }
  uint32_t tickets = kDefaultTickets;
  if (fields.size() == 3 &&
      (!SimpleAtoi(fields[2], &tickets) || tickets < 1 || tickets > kMaxTickets)) {
    return InvalidArgumentError(StrCat("needs a number of tickets from 1 to ", kMaxTickets));
  }
  Allowances& allowances = is_certificate ? allowed.certificates : allowed.tokens;
  const Allowance allowance{.name = HashOfName(fields[0]), .tickets = tickets};
  if (allowances.emplace(*digest, allowance).second) return OkStatus();
  return InvalidArgumentError("this token or certificate has a line already");
}

std::optional<Admission::Allowance> Admission::Find(const ShownCredentials& shown) const {
  if (shown.token.has_value()) {
    const auto found = allowed_.tokens.find(Sha256({*shown.token}));
    if (found != allowed_.tokens.end()) return found->second;
  }
  if (shown.certificate.has_value()) {
    const auto found = allowed_.certificates.find(*shown.certificate);
    if (found != allowed_.certificates.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace coppice::relay
