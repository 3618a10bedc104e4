// The key file, which opens a sealed store and is kept outside it.

#ifndef COPPICE_SERVER_STORE_VAULT_KEY_FILE_H_
#define COPPICE_SERVER_STORE_VAULT_KEY_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "server/store/vault/sealing.h"

namespace coppice::vault {

// A key that seals the keys of a store. The id reveals nothing about the key.
struct MasterKey {
  std::string id;  // 16 hexadecimal digits
  SecretKey key;
};

inline constexpr size_t kMasterKeyIdChars = 16;

// The keys of a key file: one per line, 64 hexadecimal digits. Empty lines and lines that begin
// with `#` are skipped. The first key is the current one; the others still open what they sealed.
//
// Errors     InvalidArgument names the line and never quotes it. FailedPrecondition if everybody on
//            the machine may read or change the file. NotFound if the file cannot be read.
class KeyFile {
 public:
  static constexpr size_t kMaxKeys = 64;

  static StatusOr<KeyFile> Load(const std::string& path);
  static StatusOr<KeyFile> Parse(std::string_view text);

  const MasterKey& current() const { return keys_.front(); }
  // Null if the file has no key of this id.
  const MasterKey* Find(std::string_view id) const;
  const std::vector<MasterKey>& keys() const { return keys_; }

 private:
  explicit KeyFile(std::vector<MasterKey> keys) : keys_(std::move(keys)) {}

  std::vector<MasterKey> keys_;  // at least one
};

// Writes a key file with one fresh key, readable by its owner alone, and returns the key's id.
// AlreadyExists if the file exists.
StatusOr<std::string> MakeKeyFile(const std::string& path);

// Puts a fresh key before those of the key file at `path`, in one atomic step, and returns its id.
// Keeps comments and empty lines.
StatusOr<std::string> AddKey(const std::string& path);

}  // namespace coppice::vault

#endif  // COPPICE_SERVER_STORE_VAULT_KEY_FILE_H_
