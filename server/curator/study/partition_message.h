// Partition options in messages and in stored studies.

#ifndef COPPICE_SERVER_CURATOR_STUDY_PARTITION_MESSAGE_H_
#define COPPICE_SERVER_CURATOR_STUDY_PARTITION_MESSAGE_H_

#include "common/base/status.h"
#include "coppice/v1/study.pb.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

v1::PartitionOptions ToProto(const PartitionOptions& options);

// What a request asks for: what is unset stays open. InvalidArgument for a rule or criterion that
// this version does not know. The grower checks the numbers' bounds.
StatusOr<PartitionRequest> ParsePartitionRequest(const v1::PartitionOptions& proto);

// The options of a study that exists, with nothing open.
StatusOr<PartitionOptions> ParsePartitionOptions(const v1::PartitionOptions& proto);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_PARTITION_MESSAGE_H_
