#include "server/relay/dealing/curator_trust.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/write_file.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/manifest.h"

namespace coppice::relay {
namespace {

Status MalformedManifest(std::string_view study, std::string_view why) {
  return DataLossError(
      StrCat("the manifest of study ", study, " ", why, "; no deal is opened: ask the curator"));
}

// The file is the pin, and the signed manifest in its wire form.
std::string Pack(const PublicKey& pin, const SignedManifest& manifest) {
  return std::string(pin.begin(), pin.end()) + ToProto(manifest).SerializeAsString();
}

}  // namespace

StatusOr<CuratorTrust> CuratorTrust::Load(std::string file, std::string_view study,
                                          const PublicKey& pin) {
  std::error_code failed;
  if (!std::filesystem::exists(file, failed)) {
    return CuratorTrust(std::move(file), study, pin, std::nullopt);
  }
  COPPICE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
  const Status damaged = DataLossError(StrCat(file,
                                              " is damaged. It records the curator's latest key; "
                                              "remove it to start again with the pinned key"));
  PublicKey pinned{};
  v1::SignedManifest proto;
  if (bytes.size() < pinned.size()) return damaged;
  std::copy_n(bytes.begin(), pinned.size(), pinned.begin());
  if (!proto.ParseFromString(bytes.substr(pinned.size()))) return damaged;
  const StatusOr<SignedManifest> manifest = ParseSignedManifest(proto);
  if (!manifest.ok()) return damaged;
  StatusOr<Manifest> parsed = ReadManifest(manifest->bytes);
  if (!parsed.ok()) return damaged;
  return CuratorTrust(
      std::move(file), study, pin,
      Admitted{.pin = pinned, .key = manifest->key, .manifest = *std::move(parsed)});
}

StatusOr<Manifest> CuratorTrust::Admit(const SignedManifest& manifest, int64_t now_unix_seconds) {
  const PublicKey trusted = last_.has_value() && last_->pin == pin_ ? last_->key : pin_;
  COPPICE_RETURN_IF_ERROR(
      FollowChain(trusted, manifest.endorsements, manifest.key, now_unix_seconds));
  if (!IsSignedBy(manifest.key, kManifestDomain, manifest.bytes, manifest.signature)) {
    return MalformedManifest(study_, "has a signature that does not check");
  }
  StatusOr<Manifest> parsed = ReadManifest(manifest.bytes);
  if (!parsed.ok()) {
    return MalformedManifest(study_, StrCat("is bad: ", parsed.status().message()));
  }
  if (parsed->key != KeyIdOf(manifest.key)) return MalformedManifest(study_, "names another key");
  if (parsed->study != study_) return MalformedManifest(study_, "is about another study");
  if (last_.has_value()) COPPICE_RETURN_IF_ERROR(CheckNotWeakened(last_->manifest, *parsed));
  Admitted now{.pin = pin_, .key = manifest.key, .manifest = *std::move(parsed)};
  const bool is_known =
      last_.has_value() && last_->pin == now.pin && last_->manifest == now.manifest;
  if (!is_known) {
    COPPICE_RETURN_IF_ERROR(
        WriteFileAtomically(file_, Pack(pin_, manifest), {.replace = true, .mode = {}}));
    last_ = std::move(now);
  }
  return last_->manifest;
}

}  // namespace coppice::relay
