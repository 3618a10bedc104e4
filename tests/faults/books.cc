#include "tests/faults/books.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"

namespace coppice::testing {
namespace {

Status Unreadable(std::string_view key) {
  return DataLossError(std::string(key) + " does not parse");
}

const uint8_t* BytesOf(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

// The key that serials are encrypted with for these terms (docs/protocol.md#tickets).
std::string IdKey(const std::string& curator_key, const std::string& terms) {
  std::string message = "coppice.v1.ticket" + std::string(32, '\0');
  SHA256(BytesOf(terms), terms.size(), reinterpret_cast<uint8_t*>(&message[message.size() - 32]));
  std::string keys(64, '\0');
  HMAC(EVP_sha512(), curator_key.data(), static_cast<int>(curator_key.size()), BytesOf(message),
       message.size(), reinterpret_cast<uint8_t*>(keys.data()), nullptr);
  return keys.substr(0, 32);
}

std::string IdOf(uint64_t run, uint64_t low, const std::string& id_key) {
  std::string serial(16, '\0');
  for (size_t i = 0; i < 8; ++i) {
    serial[7 - i] = static_cast<char>(run >> (8 * i));
    serial[15 - i] = static_cast<char>(low >> (8 * i));
  }
  std::string id(32, '\0');
  int size = 0;
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  EVP_EncryptInit_ex(context, EVP_aes_256_ecb(), nullptr, BytesOf(id_key), nullptr);
  EVP_EncryptUpdate(context, reinterpret_cast<uint8_t*>(id.data()), &size, BytesOf(serial), 16);
  EVP_CIPHER_CTX_free(context);
  return id.substr(0, 16);
}

}  // namespace

StatusOr<Books> ReadBooks(const storage::Store& store, std::string_view study) {
  Books books;
  std::string terms;
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> record,
                           store.Get(curator::StudyKey(study)));
  if (record.has_value()) {
    v1::StudyRecord parsed;
    if (!parsed.ParseFromString(*record)) return Unreadable("study/");
    books.exists = true;
    terms = parsed.terms();
    books.sealed = parsed.state() != v1::STUDY_STATE_OPEN;
    books.sealed_at = parsed.sealed_unix_seconds();
    books.retired = parsed.retired();
    ++books.keys;
  }
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> counts,
                           store.Get(curator::CountsKey(study)));
  if (counts.has_value()) {
    v1::CountsRecord parsed;
    if (!parsed.ParseFromString(*counts)) return Unreadable("count/");
    books.accepted = parsed.accepted();
    books.duplicates = parsed.duplicate();
    ++books.keys;
  }
  COPPICE_RETURN_IF_ERROR(
      store.Scan(curator::SumsPrefix(study), [&](std::string_view key, std::string_view value) {
        v1::SumsRecord parsed;
        if (!parsed.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          return Unreadable(key);
        }
        books.reports += parsed.reports();
        books.sums.assign(parsed.sums().begin(), parsed.sums().end());
        books.counted.append(key.data(), key.size()).append(value.data(), value.size());
        ++books.keys;
        return OkStatus();
      }));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> secret,
                           store.Get(curator::kTicketKeyKey));
  const std::string id_key = IdKey(secret.value_or(""), terms);
  COPPICE_RETURN_IF_ERROR(
      store.Scan(curator::SpentPrefix(study), [&](std::string_view key, std::string_view value) {
        v1::SpentRecord parsed;
        if (!parsed.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          return Unreadable(key);
        }
        for (const v1::SpentRecord::Run& run : parsed.runs()) {
          uint64_t low = 0;
          for (const int64_t step : run.steps()) {
            low += static_cast<uint64_t>(step);
            books.spent.push_back(IdOf(run.run(), low, id_key));
          }
        }
        books.counted.append(key.data(), key.size()).append(value.data(), value.size());
        ++books.keys;
        return OkStatus();
      }));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> rows,
                           store.Get(curator::RowsKey(study)));
  books.has_rows = rows.has_value();
  if (books.has_rows) ++books.keys;
  for (const char* kind : {"model/", "summary/model/"}) {
    COPPICE_RETURN_IF_ERROR(
        store.Scan(StrCat(kind, study, "/"), [&](std::string_view, std::string_view) {
          ++books.keys;
          return OkStatus();
        }));
  }
  return books;
}

}  // namespace coppice::testing
