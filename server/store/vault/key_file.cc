#include "server/store/vault/key_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/file_permissions.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/base/write_file.h"
#include "common/terms/sha256.h"

namespace coppice::vault {
namespace {

constexpr size_t kHexDigits = 2 * SecretKey::kBytes;

// Wipes a text that held keys.
class WipedText {
 public:
  explicit WipedText(std::string text) : text_(std::move(text)) {}
  ~WipedText() { Wipe(text_); }
  WipedText(const WipedText&) = delete;
  WipedText& operator=(const WipedText&) = delete;

  const std::string& get() const { return text_; }

 private:
  std::string text_;
};

MasterKey ToMasterKey(const SecretKey& key) {
  const Sha256Digest digest = Sha256({"coppice.v1.key_id", key.bytes()});
  const std::string hex =
      absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), kMasterKeyIdChars / 2});
  return {.id = hex, .key = key};
}

bool IsKey(absl::string_view line) {
  return line.size() == kHexDigits &&
         std::all_of(line.begin(), line.end(),
                     [](unsigned char digit) { return absl::ascii_isxdigit(digit); });
}

absl::Status InLine(size_t number, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", what));
}

absl::StatusOr<std::string> MakeKeyLine(std::string& line) {
  COPPICE_ASSIGN_OR_RETURN(const SecretKey key, SecretKey::Make());
  line = absl::StrCat(absl::BytesToHexString(key.bytes()), "\n");
  return ToMasterKey(key).id;
}

absl::Status WriteKeys(const std::string& path, absl::string_view text, bool replace) {
  return WriteFileAtomically(path, text, {.replace = replace, .mode = kSecretFileMode});
}

absl::StatusOr<std::string> ReadClosedFile(const std::string& path) {
  if (IsWorldAccessible(path)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     ": everybody on this machine may read or change it: chmod o-rwx it, and add a "
                     "new key (coppiced key-file --add) if others use the machine"));
  }
  return ReadTextFile(path);
}

}  // namespace

absl::StatusOr<KeyFile> KeyFile::Load(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(std::string read, ReadClosedFile(path));
  const WipedText text(std::move(read));
  absl::StatusOr<KeyFile> keys = Parse(text.get());
  if (keys.ok()) return keys;
  return absl::Status(keys.status().code(), absl::StrCat(path, ": ", keys.status().message()));
}

absl::StatusOr<KeyFile> KeyFile::Parse(absl::string_view text) {
  std::vector<MasterKey> keys;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || absl::StartsWith(line, "#")) continue;
    if (!IsKey(line)) return InLine(number, "wants a key of 64 hexadecimal digits");
    if (keys.size() == kMaxKeys) return InLine(number, "is one key more than 64: remove old ones");
    const WipedText bytes(absl::HexStringToBytes(line));
    COPPICE_ASSIGN_OR_RETURN(const SecretKey key, SecretKey::FromBytes(bytes.get()));
    MasterKey master = ToMasterKey(key);
    for (const MasterKey& before : keys) {
      if (before.id == master.id) return InLine(number, "repeats a key");
    }
    keys.push_back(std::move(master));
  }
  if (keys.empty()) {
    return absl::InvalidArgumentError("holds no key: make a file with `coppiced key-file --out`");
  }
  return KeyFile(std::move(keys));
}

const MasterKey* KeyFile::Find(absl::string_view id) const {
  for (const MasterKey& key : keys_) {
    if (key.id == id) return &key;
  }
  return nullptr;
}

absl::StatusOr<std::string> MakeKeyFile(const std::string& path) {
  std::string line;
  COPPICE_ASSIGN_OR_RETURN(const std::string id, MakeKeyLine(line));
  const WipedText text(std::move(line));
  COPPICE_RETURN_IF_ERROR(WriteKeys(path, text.get(), /*replace=*/false));
  return id;
}

absl::StatusOr<std::string> AddKey(const std::string& path) {
  COPPICE_RETURN_IF_ERROR(KeyFile::Load(path).status());  // changes only a valid key file
  COPPICE_ASSIGN_OR_RETURN(std::string read, ReadClosedFile(path));
  const WipedText before(std::move(read));
  std::string line;
  COPPICE_ASSIGN_OR_RETURN(const std::string id, MakeKeyLine(line));
  const WipedText fresh(std::move(line));
  const WipedText both(absl::StrCat(fresh.get(), before.get()));
  COPPICE_RETURN_IF_ERROR(KeyFile::Parse(both.get()).status());
  COPPICE_RETURN_IF_ERROR(WriteKeys(path, both.get(), /*replace=*/true));
  return id;
}

}  // namespace coppice::vault
