#include "server/store/vault/key_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/file_permissions.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
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
      BytesToHexString({reinterpret_cast<const char*>(digest.data()), kMasterKeyIdChars / 2});
  return {.id = hex, .key = key};
}

bool IsKey(std::string_view line) {
  return line.size() == kHexDigits &&
         std::all_of(line.begin(), line.end(), [](char digit) { return IsAsciiXdigit(digit); });
}

Status InLine(size_t number, std::string_view what) {
  return InvalidArgumentError(StrCat("line ", number, ": ", what));
}

StatusOr<std::string> MakeKeyLine(std::string& line) {
  COPPICE_ASSIGN_OR_RETURN(const SecretKey key, SecretKey::Make());
  line = StrCat(BytesToHexString(key.bytes()), "\n");
  return ToMasterKey(key).id;
}

Status WriteKeys(const std::string& path, std::string_view text, bool replace) {
  return WriteFileAtomically(path, text, {.replace = replace, .mode = kSecretFileMode});
}

StatusOr<std::string> ReadClosedFile(const std::string& path) {
  if (IsWorldAccessible(path)) {
    return FailedPreconditionError(
        StrCat(path,
               ": everybody on this machine may read or change it: chmod o-rwx it, and add a "
               "new key (coppiced key-file --add) if others use the machine"));
  }
  return ReadTextFile(path);
}

}  // namespace

StatusOr<KeyFile> KeyFile::Load(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(std::string read, ReadClosedFile(path));
  const WipedText text(std::move(read));
  StatusOr<KeyFile> keys = Parse(text.get());
  if (keys.ok()) return keys;
  return Status(keys.status().code(), StrCat(path, ": ", keys.status().message()));
}

StatusOr<KeyFile> KeyFile::Parse(std::string_view text) {
  std::vector<MasterKey> keys;
  size_t number = 0;
  for (std::string_view line : StrSplit(text, '\n')) {
    ++number;
    line = StripAsciiWhitespace(line);
    if (line.empty() || StartsWith(line, "#")) continue;
    if (!IsKey(line)) return InLine(number, "needs a key of 64 hexadecimal digits");
    if (keys.size() == kMaxKeys) return InLine(number, "is one key more than 64: remove old ones");
    const WipedText bytes(HexStringToBytes(line));
    COPPICE_ASSIGN_OR_RETURN(const SecretKey key, SecretKey::FromBytes(bytes.get()));
    MasterKey master = ToMasterKey(key);
    for (const MasterKey& before : keys) {
      if (before.id == master.id) return InLine(number, "repeats a key");
    }
    keys.push_back(std::move(master));
  }
  if (keys.empty()) {
    return InvalidArgumentError("holds no key: make a file with `coppiced key-file --out`");
  }
  return KeyFile(std::move(keys));
}

const MasterKey* KeyFile::Find(std::string_view id) const {
  for (const MasterKey& key : keys_) {
    if (key.id == id) return &key;
  }
  return nullptr;
}

StatusOr<std::string> MakeKeyFile(const std::string& path) {
  std::string line;
  COPPICE_ASSIGN_OR_RETURN(const std::string id, MakeKeyLine(line));
  const WipedText text(std::move(line));
  COPPICE_RETURN_IF_ERROR(WriteKeys(path, text.get(), /*replace=*/false));
  return id;
}

StatusOr<std::string> AddKey(const std::string& path) {
  COPPICE_RETURN_IF_ERROR(KeyFile::Load(path).status());  // changes only a valid key file
  COPPICE_ASSIGN_OR_RETURN(std::string read, ReadClosedFile(path));
  const WipedText before(std::move(read));
  std::string line;
  COPPICE_ASSIGN_OR_RETURN(const std::string id, MakeKeyLine(line));
  const WipedText fresh(std::move(line));
  const WipedText both(StrCat(fresh.get(), before.get()));
  COPPICE_RETURN_IF_ERROR(KeyFile::Parse(both.get()).status());
  COPPICE_RETURN_IF_ERROR(WriteKeys(path, both.get(), /*replace=*/true));
  return id;
}

}  // namespace coppice::vault
