#include "common/wire/proto/model_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/json_message.h"

namespace coppice {
namespace {

// A later version may have written fields that this one does not know; those are skipped. In a file
// of this version an unknown name is an error.
bool ReadsAsLaterVersion(const std::string& text, v1::Model& model) {
  model.Clear();
  return ParseJsonMessage(text, model, UnknownFields::kSkipped).ok() &&
         model.version() > kModelVersion;
}

}  // namespace

StatusOr<v1::Model> ReadModelFile(const std::string& path, size_t max_bytes) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  constexpr size_t kPiece = size_t{1} << 20;
  for (size_t read = kPiece; stream.good() && read == kPiece && text.size() <= max_bytes;) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    stream.read(text.data() + before, kPiece);
    read = static_cast<size_t>(stream.gcount());
    text.resize(before + read);
  }
  if (!stream.good() && !stream.eof()) {
    return NotFoundError(
        StrCat("cannot read ", path, ": ", std::strerror(errno), "; check the path"));
  }
  if (text.size() > max_bytes) {
    return InvalidArgumentError(
        StrCat(path, " has more than ", max_bytes, " bytes: it is no model"));
  }
  if (StartsWith(text, kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  v1::Model model;
  const Status status = ParseJsonMessage(text, model);
  if (status.ok()) return model;
  if (ReadsAsLaterVersion(text, model)) return model;
  return InvalidArgumentError(StrCat(
      path,
      " is no model as `coppice model export` writes it without --format: ", status.message()));
}

StatusOr<std::string> ModelFileText(const v1::Model& model) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(model, &text, options);
  if (!status.ok()) return InternalError("the model cannot be written as JSON");
  return text;
}

std::string ModelMessageBytes(const v1::Model& model) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    model.SerializeToCodedStream(&out);
  }
  return bytes;
}

}  // namespace coppice
