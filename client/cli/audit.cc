#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/functional/function_ref.h"
#include "client/cli/commands.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/system_clock.h"
#include "common/base/text.h"
#include "common/base/write_file.h"
#include "common/describe/text.h"
#include "common/terms/public_key_file.h"
#include "common/terms/signature.h"
#include "common/terms/terms.h"
#include "common/wire/proto/audit_chain.h"
#include "common/wire/proto/json_message.h"
#include "common/wire/proto/manifest.h"
#include "coppice/v1/admin.pb.h"

namespace coppice::cli {
namespace {

struct AuditFlags {
  uint64_t from = 0;
  bool with_head = false;
  bool verify = false;
  std::string file;
  std::string head_file;
  std::string curator_key;
  ServerFlags server;
  OutputFlags output;
};

// With --json the object has exactly what is hashed, and the hash.
Json DescribeEntry(const v1::AuditEntry& entry, bool json) {
  Json row = {{"sequence", entry.sequence()}, {"day", entry.day()},
              {"actor", entry.actor()},       {"action", entry.action()},
              {"resource", entry.resource()}, {"related", entry.related()},
              {"outcome", entry.outcome()}};
  if (!json) {
    row["epsilon"] = EpsilonNumber(entry.epsilon_nanos());
    return row;
  }
  row["epsilon_nanos"] = entry.epsilon_nanos();
  row["delta_atto"] = entry.delta_atto();
  row["ledger_link"] = BytesToHexString(entry.ledger_link());
  row["hash"] = BytesToHexString(entry.hash());
  return row;
}

// A signed place in the log, printed among its entries.
StatusOr<Json> DescribeHead(const v1::AuditHead& head) {
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(head, &text).ok()) {
    return InternalError("cannot write the audit log's signed head as JSON");
  }
  return Json{{"head", Json::parse(text)}};
}

// Passes each page from `first` on to `take`, including the last, which reaches the head.
Status ForEachAuditPage(const Remote& remote, uint64_t first,
                        absl::FunctionRef<Status(const v1::ReadAuditLogResponse&)> take) {
  for (;;) {
    v1::ReadAuditLogRequest request;
    request.set_first(first);
    COPPICE_ASSIGN_OR_RETURN(const auto page, remote.Call<v1::ReadAuditLogResponse>(request));
    COPPICE_RETURN_IF_ERROR(take(page));
    if (page.entries().empty()) return OkStatus();
    first = page.entries().rbegin()->sequence() + 1;
    if (first >= page.head().entries()) return OkStatus();
  }
}

Status PrintLog(const Remote& remote, const AuditFlags& flags) {
  RowPrinter printer(flags.output.json);
  bool begun = false;
  v1::AuditHead head;
  COPPICE_RETURN_IF_ERROR(
      ForEachAuditPage(remote, flags.from, [&](const v1::ReadAuditLogResponse& page) -> Status {
        if (flags.with_head && !std::exchange(begun, true) &&
            flags.from < page.sealed().entries()) {
          COPPICE_ASSIGN_OR_RETURN(Json sealed, DescribeHead(page.sealed()));
          printer.Print(std::move(sealed));
        }
        for (const v1::AuditEntry& entry : page.entries()) {
          printer.Print(DescribeEntry(entry, flags.output.json));
        }
        head = page.head();
        return OkStatus();
      }));
  if (!flags.with_head) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(Json end, DescribeHead(head));
  printer.Print(std::move(end));
  return OkStatus();
}

// The end of the log, kept from an earlier --head.
struct KeptHead {
  uint64_t entries = 0;
  std::string hash{};
};

StatusOr<std::optional<KeptHead>> ReadKeptHead(const std::string& path) {
  if (path.empty() || !std::filesystem::exists(path)) return std::nullopt;
  COPPICE_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("entries") || !json["entries"].is_number_unsigned() ||
      !json.contains("head") || !json["head"].is_string()) {
    return InvalidArgumentError(
        StrCat("--head ", path, " was not written by this command; name another file"));
  }
  return KeptHead{.entries = json["entries"].get<uint64_t>(),
                  .hash = json["head"].get<std::string>()};
}

// Verifies the log page by page.
class LogVerifier {
 public:
  LogVerifier(std::optional<PublicKey> trusted, std::optional<KeptHead> kept)
      : trusted_(std::move(trusted)), kept_(std::move(kept)) {}

  Status Take(const v1::ReadAuditLogResponse& page) {
    if (!begun_) COPPICE_RETURN_IF_ERROR(Begin(page.sealed()));
    for (const v1::AuditEntry& entry : page.entries()) COPPICE_RETURN_IF_ERROR(Take(entry));
    head_ = page.head();
    return OkStatus();
  }
  // Takes the next entry; it is the first one of all unless a head came before.
  Status Take(const v1::AuditEntry& entry) {
    if (!begun_) COPPICE_RETURN_IF_ERROR(Begin(ToProto(AuditChain())));
    COPPICE_RETURN_IF_ERROR(chain_.Follow(entry));
    return CompareWithKept();
  }
  // Takes a head at which the entries so far end, or before all of them.
  Status Take(const v1::AuditHead& head) {
    head_ = head;
    return begun_ ? CheckHead() : Begin(head);
  }

  Status End() const {
    if (!head_.has_signature()) {
      return InvalidArgumentError(
          "the file has no signed head of the curator; write it with `coppice admin audit --json "
          "--with-head`");
    }
    COPPICE_RETURN_IF_ERROR(CheckHead());
    if (!kept_.has_value() || kept_->entries <= chain_.entries()) return OkStatus();
    return DataLossError(
        StrCat("entry ", chain_.entries(), " of the audit log is missing: the saved head covers ",
               kept_->entries, " entries, but the log has fewer. Was an older backup restored?"));
  }

  Json Describe() const {
    return {{"verified", true},
            {"first", first_},
            {"entries", chain_.entries()},
            {"head", ToHex(chain_.hash())},
            {"signature", trusted_.has_value() ? "valid" : "unpinned"},
            {"signed_by", ToPin(*ParsePublicKeyBytes(head_.signature().key()))}};
  }

 private:
  Status CheckHead() const {
    COPPICE_RETURN_IF_ERROR(chain_.CheckEnd(head_));
    return CheckHeadSignature(head_, trusted_, SystemSeconds());
  }

  Status Begin(const v1::AuditHead& sealed) {
    begun_ = true;
    first_ = sealed.entries();
    COPPICE_ASSIGN_OR_RETURN(chain_, AuditChain::After(sealed));
    if (first_ > 0) COPPICE_RETURN_IF_ERROR(CheckHeadSignature(sealed, trusted_, SystemSeconds()));
    if (kept_.has_value() && kept_->entries < first_) {
      Note(StrCat("entries up to ", first_,
                  " were dropped after the head was saved; their signed head stands for them"));
    }
    return CompareWithKept();
  }

  Status CompareWithKept() const {
    if (!kept_.has_value() || kept_->entries != chain_.entries()) return OkStatus();
    if (kept_->hash == ToHex(chain_.hash())) return OkStatus();
    return DataLossError(StrCat("entry ", chain_.entries() == 0 ? 0 : chain_.entries() - 1,
                                " of the audit log differs from the one that the saved head "
                                "covers: the log was rewritten"));
  }

  const std::optional<PublicKey> trusted_;
  const std::optional<KeptHead> kept_;
  AuditChain chain_;
  v1::AuditHead head_;
  uint64_t first_ = 0;
  bool begun_ = false;
};

// Parses an entry or a head from one line that PrintLog() wrote with --json.
StatusOr<std::variant<v1::AuditEntry, v1::AuditHead>> ParseLine(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto no_line = InvalidArgumentError("is not a line of `coppice admin audit --json`");
  if (!json.is_object()) return no_line;
  if (json.contains("head")) {
    v1::AuditHead head;
    if (!ParseJsonMessage(json["head"].dump(), head).ok()) return no_line;
    return head;
  }
  v1::AuditEntry entry;
  bool complete = json.size() == static_cast<size_t>(v1::AuditEntry::descriptor()->field_count());
  const auto text = [&](const char* name) {
    const auto field = json.find(name);
    if (field != json.end() && field->is_string()) return field->get<std::string>();
    complete = false;
    return std::string();
  };
  const auto number = [&](const char* name) {
    const auto field = json.find(name);
    if (field != json.end() && field->is_number_unsigned()) return field->get<uint64_t>();
    complete = false;
    return uint64_t{0};
  };
  entry.set_sequence(number("sequence"));
  entry.set_day(text("day"));
  entry.set_actor(text("actor"));
  entry.set_action(text("action"));
  entry.set_resource(text("resource"));
  entry.set_related(text("related"));
  entry.set_outcome(text("outcome"));
  entry.set_epsilon_nanos(number("epsilon_nanos"));
  entry.set_delta_atto(number("delta_atto"));
  entry.set_ledger_link(HexStringToBytes(text("ledger_link")));
  entry.set_hash(HexStringToBytes(text("hash")));
  if (!complete) return no_line;
  return entry;
}

// False at the end. A line that is too long to be ours is cut, and then refused; so no line nests
// too deeply for the stack.
bool ReadLine(std::istream& file, std::string& line) {
  constexpr size_t kMaxLine = size_t{1} << 14;
  line.clear();
  for (char byte = 0; line.size() < kMaxLine && file.get(byte) && byte != '\n';) line += byte;
  return file.good() || !line.empty();
}

// Passes every line of a file that PrintLog() wrote to the verifier.
Status TakeFile(const std::string& path, LogVerifier& verifier) {
  std::ifstream file(path);
  if (!file) return NotFoundError(StrCat(path, ": cannot be read"));
  std::string line;
  for (size_t number = 1; ReadLine(file, line); ++number) {
    const auto parsed = ParseLine(number == 1 ? WithoutByteOrderMark(line) : line);
    if (!parsed.ok()) {
      return InvalidArgumentError(StrCat(path, ":", number, ": ", parsed.status().message()));
    }
    COPPICE_RETURN_IF_ERROR(
        std::visit([&verifier](const auto& taken) { return verifier.Take(taken); }, *parsed));
  }
  return OkStatus();
}

Status TakeLog(const AuditFlags& flags, LogVerifier& verifier) {
  if (!flags.file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const std::string path, InputFile(flags.file));
    return TakeFile(path, verifier);
  }
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  return ForEachAuditPage(
      remote, 0, [&verifier](const v1::ReadAuditLogResponse& page) { return verifier.Take(page); });
}

Status VerifyLog(const AuditFlags& flags) {
  std::optional<PublicKey> trusted;
  if (!flags.curator_key.empty()) {
    COPPICE_ASSIGN_OR_RETURN(trusted, ReadPublicKey(flags.curator_key));
  }
  COPPICE_ASSIGN_OR_RETURN(std::optional<KeptHead> kept, ReadKeptHead(flags.head_file));
  LogVerifier verifier(trusted, std::move(kept));
  COPPICE_RETURN_IF_ERROR(TakeLog(flags, verifier));
  COPPICE_RETURN_IF_ERROR(verifier.End());
  const Json verdict = verifier.Describe();
  if (!flags.head_file.empty()) {
    COPPICE_RETURN_IF_ERROR(
        WriteFileAtomically(flags.head_file, JsonLine(verdict) + "\n", {.replace = true}));
  }
  PrintObject(verdict, flags.output.json);
  return OkStatus();
}

Status Audit(const AuditFlags& flags) {
  if (flags.verify) return VerifyLog(flags);
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  return PrintLog(remote, flags);
}

Status CheckAuditFlags(const AuditFlags& flags) {
  if (flags.verify && flags.from > 0) {
    return InvalidArgumentError("--from cannot be used with --verify, which checks the whole log");
  }
  if (flags.with_head && (flags.verify || !flags.output.json)) {
    return InvalidArgumentError("--with-head needs --json, and cannot be used with --verify");
  }
  if (!flags.file.empty() && !flags.verify) {
    return InvalidArgumentError("--file needs --verify");
  }
  if (flags.verify || (flags.head_file.empty() && flags.curator_key.empty())) {
    return OkStatus();
  }
  return InvalidArgumentError(
      StrCat(flags.head_file.empty() ? "--curator-key" : "--head", " needs --verify"));
}

}  // namespace

void AddAuditCommand(const Command& noun) {
  const auto flags = std::make_shared<AuditFlags>();
  const Command verb = noun.AddCommand(
      "audit",
      "Print the audit log, one entry per line: who did what to which resource, on which day, in "
      "which order, and how it ended. Or verify that no entry was changed, removed or added",
      "coppice admin audit --verify --head audit.head --curator-key curator.pem");
  verb.Add("--from", flags->from, "Number of the first entry to print").Takes("N");
  verb.AddSwitch("--with-head", flags->with_head,
                 "With --json: end with the curator's signed head, so that --file can verify the "
                 "lines elsewhere");
  verb.AddSwitch("--verify", flags->verify,
                 "Follow the chain of hashes from the oldest entry to the signed head, and name "
                 "the first entry that does not match");
  verb.Add("--file", flags->file,
           "With --verify: check this output of --json --with-head instead of the curator's log; - "
           "is stdin")
      .Takes("FILE");
  verb.Add("--head", flags->head_file,
           "Compare with the head that was saved in this file last time, then save the new one: "
           "shows whether entries are missing from the end. Keep the file on another machine")
      .Takes("FILE");
  AddPublicKeyFlag(verb, "--curator-key", flags->curator_key,
                   "Public key of the curator, as `coppice study key` prints it: refuse a head "
                   "that was signed neither by it nor by a key that it endorses");
  AddOutputFlags(verb, flags->output);
  const Flag server = AddServerFlags(verb, flags->server).Required(false);
  verb.CheckFlags([flags, server] {
    if (flags->file.empty() && !server.IsGiven()) return server.MissingError();
    return CheckAuditFlags(*flags);
  });
  SetAction(verb, flags, Audit);
}

}  // namespace coppice::cli
