#include "server/process/request_bytes.h"

#include <grpcpp/support/slice.h>

#include <vector>

#include "common/base/text.h"

namespace coppice {
namespace {

Status CheckRequestSize(const grpc::ByteBuffer& bytes, size_t most) {
  if (bytes.Length() <= most) return OkStatus();
  return ResourceExhaustedError(
      StrCat("the request is larger than ", most, " bytes, the limit of this method"));
}

StatusOr<std::string> CopyBytes(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  if (!bytes.Dump(&slices).ok()) return InvalidArgumentError("the call has no request");
  std::string copied;
  copied.reserve(bytes.Length());
  for (const grpc::Slice& slice : slices) {
    copied.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return copied;
}

}  // namespace

StatusOr<std::string> TakeRequestBytes(grpc::ByteBuffer& bytes, size_t most) {
  const Status fits = CheckRequestSize(bytes, most);
  StatusOr<std::string> copied = fits.ok() ? CopyBytes(bytes) : fits;
  bytes.Clear();
  return copied;
}

grpc::ByteBuffer ToByteBuffer(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace coppice
