// An offer as it is on the wire: not parsed, and not decompressed.

#ifndef COPPICE_TESTS_SUPPORT_RAW_OFFER_H_
#define COPPICE_TESTS_SUPPORT_RAW_OFFER_H_

#include <grpc/grpc.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "coppice/v1/study.pb.h"

namespace coppice::testing {

// Returns GetOffer's answer from `server`, without the five bytes that gRPC puts before a message.
// Empty if the call fails.
inline std::string RawOffer(const std::string& server,
                            const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                            const v1::GetOfferRequest& request) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  grpc::GenericStub stub(grpc::CreateCustomChannel(server, credentials, arguments));
  grpc::ClientContext context;
  const grpc::Slice bytes(request.SerializeAsString());
  const grpc::ByteBuffer message(&bytes, 1);
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareUnaryCall(&context, "/coppice.v1.StudyService/GetOffer", message, &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  grpc::Slice answer;
  if (!queue.Next(&tag, &ok) || !status.ok() || !response.DumpToSingleSlice(&answer).ok())
    return "";
  return {answer.begin(), answer.end()};
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_RAW_OFFER_H_
